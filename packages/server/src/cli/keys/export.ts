import { createHash } from 'node:crypto'
import { open, readFile, rename, rm, stat, truncate } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemClock } from '../../platform/clock.ts'
import { CommandFailed } from '../failure.ts'
import { inform, print } from '../output.ts'
import { type Environment, type KeysApi, openKeysApi, patientRetries, readEnv, readProject } from './api.ts'
import { readLines } from './lines.ts'
import { locked } from './lock.ts'
import { namedForFile } from './names.ts'
import { replaceFile } from './replace-file.ts'
import { unlessStopped, untilSignal } from './stop-signals.ts'

export interface ExportFlags {
  project?: string
  env?: string
}

type Query = Parameters<KeysApi['keys']['export']>[0]

/** Written at once, so that the file has whole lines to go on behind. */
const batchLines = 1_000

/**
 * Writes all keys into a file. Until it is whole it has another name.
 * @throws {CommandFailed} if the file exists
 */
export async function exportKeys(env: Environment, named: string, flags: ExportFlags): Promise<void> {
  const path = resolve(named)
  const query: Query = {
    ...(flags.project !== undefined && { projectId: readProject('--project', flags.project) }),
    ...(flags.env !== undefined && { env: readEnv('--env', flags.env) }),
  }
  const api = await openKeysApi(env)
  const count = await locked(path, async () => {
    if (await exists(path)) throw new CommandFailed(`${path} exists.`)
    const partial = `${path}.partial`
    const written = await untilSignal(async stop => {
      const { id } = await unlessStopped(
        stop,
        () => 'Nothing was exported.',
        () => api.workspace.get({ maxRetries: patientRetries, signal: stop }),
      )
      const begun = await begin(partial, nameOf(env, id, query))
      if (begun.cursor !== null) inform(`Goes on behind key ${begun.count}.`)
      return await writeKeys(api.keys, partial, query, begun, stop)
    })
    await rename(partial, path)
    await rm(markOf(partial), { force: true })
    return written
  })
  print(`${count} keys are in ${path}. It has digests, and no key: keep it as you keep a backup.`)
}

interface Begun {
  /** The id of the last key that is written. */
  readonly cursor: string | null
  readonly count: number
}

/** @returns how many keys the file has */
async function writeKeys(
  keys: KeysApi['keys'],
  partial: string,
  query: Query,
  begun: Begun,
  stop: AbortSignal,
): Promise<number> {
  await using file = await open(partial, 'a', 0o600)
  await file.chmod(0o600)
  let { count } = begun
  let lines: object[] = []
  const write = async () => {
    await file.appendFile(lines.map(line => `${JSON.stringify(line)}\n`).join(''))
    lines = []
  }
  const stopped = () => `Stopped behind key ${count}. The same command goes on there.`
  // It ends only where the service has said that it was all.
  const exported = keys.export(
    { ...query, ...(begun.cursor !== null && { cursor: begun.cursor }) },
    { maxRetries: patientRetries, signal: stop },
  )
  await unlessStopped(stop, stopped, async () => {
    try {
      for await (const key of exported) {
        lines.push(namedForFile(key))
        count += 1
        if (lines.length === batchLines) await write()
      }
      lines.push({ object: 'export_end', count })
    } finally {
      await write()
    }
  })
  await file.sync()
  return count
}

/** An export may go on for so long after its begin: its first keys may be revoked since, and would work where it is imported. */
const oldMost = 3_600_000

/** What an export is of: the service, the workspace and which keys. Another one must not go on in its file. */
const nameOf = ({ KEYRAIL_URL = '' }: Environment, workspaceId: string, query: Query): string =>
  createHash('sha256')
    .update(
      JSON.stringify([new URL(KEYRAIL_URL).origin, workspaceId, query.projectId ?? null, query.env ?? null]),
    )
    .digest('hex')

const markOf = (partial: string): string => `${partial}.of`

async function begin(partial: string, name: string): Promise<Begun> {
  const now = systemClock.now()
  if (!(await exists(partial))) {
    await replaceFile(markOf(partial), `${name} ${new Date(now).toISOString()}`)
    return { cursor: null, count: 0 }
  }
  const [of, begunAt = ''] = (await readFile(markOf(partial), 'utf8').catch(() => '')).split(' ')
  if (of !== name)
    throw new CommandFailed(`${partial} is of another export. Remove it, or run that export again.`)
  const age = now - Date.parse(begunAt)
  if (!(age >= 0 && age <= oldMost))
    throw new CommandFailed(
      `${partial} was begun more than an hour ago, and may have keys that were revoked since. Remove it to begin anew.`,
    )
  return await readPartial(partial)
}

/** The last whole line that an earlier run has written. What stands behind it is cut off. */
async function readPartial(path: string): Promise<Begun> {
  let cursor: string | null = null
  let count = 0
  let bytes = 0
  for await (const { text, end, isWhole } of readLines(path)) {
    const id = isWhole && text !== null ? idOf(text) : null
    if (id === null) break
    cursor = id
    count += 1
    bytes = end
  }
  await truncate(path, bytes)
  return { cursor, count }
}

/** Null: the line is no key, as the last one of an export. */
function idOf(line: string): string | null {
  try {
    const { object, id } = JSON.parse(line)
    return object === 'exported_key' && typeof id === 'string' ? id : null
  } catch {
    return null
  }
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => null)) !== null
