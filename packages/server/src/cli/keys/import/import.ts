/**
 * Imports keys that customers hold already: `read-file.ts` reads records, `formats.ts` names the systems that wrote them,
 * `own-format.ts` and `other-formats.ts` make rows of them with `rows.ts`, `batches.ts` cuts rows into calls, `send.ts`
 * sends them, `failed-rows.ts` and `progress-file.ts` keep what failed and how far it has come, and `follow.ts` shows it.
 */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { askChoice } from '../../ask.ts'
import { Cancelled, CommandFailed } from '../../failure.ts'
import { canAsk, inform, print, printJson } from '../../output.ts'
import { type Environment, openKeysApi, readEnv, readProject } from '../api.ts'
import { untilSignal } from '../stop-signals.ts'
import { openFailedRows, refuseFailedRows } from './failed-rows.ts'
import { formats, isFormatName } from './formats.ts'
import { type Progress, progressPath, readProgress, type Work, writeProgress } from './progress-file.ts'
import { type Counts, type Order, sayCounts, sendAll } from './send.ts'

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
  const work = await readWork(env, path, order, flags)
  const begun = await readProgress(path, work)
  const at =
    begun ?? (await begin(stop => sendAll({ ...order, keys, stop, dryRun: true }, null), path, work, flags))
  if (at === null) return
  if (begun !== null && flags.dryRun)
    throw new CommandFailed('An import of this file has begun. Run it without --dry-run.')
  if (begun !== null) inform(`Goes on behind record ${begun.records}.`)
  await untilSignal(stop => goOn({ ...order, keys, stop, dryRun: false }, work, at, flags))
}

/** @returns null if the rows were only to be tried */
async function begin(
  tryAll: (stop: AbortSignal) => ReturnType<typeof sendAll>,
  path: string,
  work: Work,
  flags: ImportFlags,
): Promise<Progress | null> {
  if (!flags.dryRun) await refuseFailedRows(work.failedPath)
  const { counts, faults } = await untilSignal(tryAll)
  report('Tried', counts, faults, flags)
  if (flags.dryRun) return null
  await agree(counts, flags)
  const start = { records: 0, created: 0, existing: 0, ended: 0, others: 0, failed: 0, failedBytes: 0 }
  const progress = { ...start, total: counts.records }
  await writeProgress(path, work, progress)
  return progress
}

async function goOn(order: Order, work: Work, begun: Progress, flags: ImportFlags): Promise<void> {
  const failed = await openFailedRows(work.failedPath, begun.failedBytes)
  try {
    const { counts, faults } = await sendAll(order, begun, async (at, rows) => {
      const failedBytes = await failed.add(rows)
      await writeProgress(order.path, work, { ...at, failedBytes, total: begun.total })
    })
    report('Imported', counts, faults, flags)
    await rm(progressPath(order.path), { force: true })
    if (counts.failed === 0) return await failed.remove()
    throw new CommandFailed(
      `${counts.failed} rows failed. ${work.failedPath} has them with their faults: correct it and import it with --format keyrail.`,
    )
  } finally {
    await failed.close()
  }
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
  const content = createHash('sha256')
  for await (const chunk of createReadStream(path)) content.update(chunk as Buffer)
  return {
    content: content.digest('hex'),
    url: new URL(KEYRAIL_URL).origin,
    project: projectId,
    env,
    format,
    from,
    failedPath: failed === undefined ? `${path}.failed.ndjson` : resolve(failed),
  }
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

function report(verb: string, counts: Counts, faults: readonly string[], flags: ImportFlags): void {
  const { json, dryRun } = flags
  const isLast = dryRun || verb === 'Imported'
  if (json && isLast) printJson(counts)
  const say = json ? inform : print
  say(`${verb}: ${sayCounts(counts)}`)
  for (const fault of faults) say(`  ${fault}`)
}
