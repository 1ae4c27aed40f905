/**
 * Imports keys that customers hold already: `read-file.ts` reads records, `formats.ts` names the systems that wrote them,
 * `own-format.ts` and `other-formats.ts` make rows of them with `rows.ts` and `times.ts`, `batches.ts` cuts rows into calls, `send.ts`
 * sends them, as many at once as `call-size.ts` says, `failed-rows.ts` and `progress-file.ts` keep what failed and how far it has
 * come, and `follow.ts` shows it.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { askChoice } from '../../ask.ts'
import { Cancelled, CommandFailed } from '../../failure.ts'
import { canAsk, inform, print, printJson, warn } from '../../output.ts'
import { type Environment, openKeysApi, readEnv, readProject } from '../api.ts'
import { locked } from '../lock.ts'
import { untilSignal } from '../stop-signals.ts'
import { openFailedRows, prepareFailedRows } from './failed-rows.ts'
import { formats, isFormatName } from './formats.ts'
import { type Progress, progressPath, readProgress, type Work, writeProgress } from './progress-file.ts'
import { unreadable } from './read-file.ts'
import { type Counts, noCounts, type Order, type Sent, sayCounts, sayInactive, sendAll } from './send.ts'

export interface ImportFlags {
  project?: string
  env?: string
  format?: string
  from?: string
  createTenants?: true
  dryRun?: true
  yes?: true
  skipInvalid?: true
  failed?: string
  json?: true
}

/**
 * Reads the file once to try all rows, asks, and imports them. The same command goes on where it stopped.
 * @throws {CommandFailed} if a row failed, after all others are imported
 */
export async function importKeys(env: Environment, named: string, flags: ImportFlags): Promise<void> {
  const path = resolve(named)
  const order = readOrder(path, flags)
  await refuseOther(path)
  const { keys } = await openKeysApi(env)
  const work = async () =>
    await tryAndImport({ ...order, keys }, await readWork(env, path, order, flags), flags)
  // A trial writes nothing, not even a lock.
  await (flags.dryRun ? work() : locked(path, work))
}

async function tryAndImport(
  order: Omit<Order, 'stop' | 'dryRun'>,
  work: Work,
  flags: ImportFlags,
): Promise<void> {
  const { path } = order
  refuseSame(path, work.failedPath)
  const begun = await readProgress(path, work)
  if (begun !== null && flags.dryRun)
    throw new CommandFailed('An import of this file has begun. Run it without --dry-run.')
  if (begun !== null) inform(`Goes on behind record ${begun.records}.`)
  const at =
    begun ?? (await begin(stop => sendAll({ ...order, stop, dryRun: true }, null), path, work, flags))
  if (at === null) return
  // Two imports may name the same file of failed rows.
  await locked(work.failedPath, () =>
    untilSignal(stop => goOn({ ...order, stop, dryRun: false }, work, at, flags)),
  )
}

/** @returns null if the rows were only to be tried */
async function begin(
  tryAll: (stop: AbortSignal) => Promise<Sent>,
  path: string,
  work: Work,
  flags: ImportFlags,
): Promise<Progress | null> {
  const isMade = await prepareFailedRows(work.failedPath, flags.dryRun === true)
  try {
    const sent = await untilSignal(tryAll)
    refuseNone(path, sent.counts, flags)
    report('Tried', sent, flags)
    if (flags.dryRun) {
      if (sent.counts.failed > 0) throw new CommandFailed(`${sent.counts.failed} rows would fail.`)
      return null
    }
    await agree(sent.counts, flags)
    // Somebody may have saved it while the question stood.
    if ((await digestOfFile(path)) !== work.content)
      throw new CommandFailed(`${path} has changed since its rows were tried. Nothing was imported.`)
    const progress = { ...noCounts, failedBytes: 0, total: sent.counts.records }
    await writeProgress(path, work, progress)
    return progress
  } catch (error) {
    if (isMade) await rm(work.failedPath, { force: true })
    throw error
  }
}

async function goOn(order: Order, work: Work, begun: Progress, flags: ImportFlags): Promise<void> {
  const failed = await openFailedRows(work, begun)
  try {
    const sent = await sendAll(order, begun, async (at, rows) => {
      const failedBytes = await failed.add(rows)
      await writeProgress(order.path, work, { ...at, failedBytes, total: begun.total })
    })
    report('Imported', sent, flags)
    await rm(progressPath(order.path), { force: true })
    if (sent.counts.failed === 0) return await failed.remove()
    throw new CommandFailed(
      `${sent.counts.failed} rows failed. ${work.failedPath} has them with their faults: correct it and import it with --format keyrail.`,
    )
  } finally {
    await failed.close()
  }
}

/** @throws {CommandFailed} if rows that fail would be written over the import itself */
function refuseSame(path: string, failedPath: string): void {
  if ([path, progressPath(path), `${path}.lock`].includes(failedPath))
    throw new CommandFailed('--failed is a file that the import itself has. Name another one.')
}

/** @throws {CommandFailed} for a file that has nothing to import, which is another file than somebody meant */
function refuseNone(path: string, { records }: Counts, { format = 'keyrail' }: ImportFlags): void {
  if (records > 0 || !isFormatName(format)) return
  const { what, needs, page } = formats[format]
  throw new CommandFailed(
    `${path} has no record. --format ${format} takes ${what}: NDJSON, JSON, or CSV with a line of column names. ` +
      `A record has ${needs} (docs/migrate/${page}).`,
  )
}

function readOrder(path: string, flags: ImportFlags): Omit<Order, 'keys' | 'stop' | 'dryRun'> {
  const { format = 'keyrail', from } = flags
  const projectId = readProject('--project', flags.project)
  const env = readEnv('--env', flags.env)
  if (!isFormatName(format)) throw new CommandFailed(`--format is one of ${Object.keys(formats).join(', ')}.`)
  return {
    path,
    format: formats[format],
    projectId,
    env,
    from: from === undefined ? null : readProject('--from', from),
    createTenants: flags.createTenants === true,
  }
}

async function refuseOther(path: string): Promise<void> {
  const found = await stat(path).catch(() => null)
  if (found?.isFile() !== true) throw new CommandFailed(`${path} is no file.`)
}

async function readWork(
  { KEYRAIL_URL = '' }: Environment,
  path: string,
  { projectId, env, from }: Pick<Order, 'projectId' | 'env' | 'from'>,
  { format = 'keyrail', failed }: ImportFlags,
): Promise<Work> {
  return {
    content: await digestOfFile(path),
    url: new URL(KEYRAIL_URL).origin,
    project: projectId,
    env,
    format,
    from,
    failedPath: failed === undefined ? `${path}.failed.ndjson` : resolve(failed),
  }
}

async function digestOfFile(path: string): Promise<string> {
  const content = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) content.update(chunk as Buffer)
  } catch (error) {
    throw unreadable(path, error)
  }
  return content.digest('hex')
}

/** @throws {CommandFailed} unless somebody wants what the trial has said */
async function agree({ created, failed }: Counts, { yes, skipInvalid }: ImportFlags): Promise<void> {
  if (created === 0 && failed === 0) return
  const isDecided = failed === 0 || skipInvalid === true
  if (yes && isDecided) return
  if (!canAsk())
    throw new CommandFailed(
      `Nothing was imported. ${isDecided ? 'Add --yes to import after the trial.' : 'Correct the rows, or add --yes --skip-invalid to import the others.'}`,
    )
  const others = failed > 0 ? ` and leave out ${failed} rows that fail` : ''
  const answer = await askChoice(`Import ${created} keys${others}?`, ['yes', 'no'] as const)
  if (answer === 'no') throw new Cancelled('Nothing was imported.')
}

function report(verb: string, { counts, faults, goesOn }: Sent, flags: ImportFlags): void {
  const { json, dryRun } = flags
  const isLast = dryRun || verb === 'Imported'
  if (json && isLast) printJson(counts)
  const say = json ? inform : print
  say(`${verb}: ${sayCounts(counts)}`)
  const inactive = sayInactive(counts)
  if (inactive !== null) say(inactive)
  for (const fault of faults) say(`  ${fault}`)
  if (goesOn && verb === 'Tried')
    warn('The last page of the file says that more follow: their keys are not in it.')
}
