import { stat } from 'node:fs/promises'
import { systemClock } from '../../../platform/clock.ts'
import { CommandFailed } from '../../failure.ts'
import type { Env, KeysApi } from '../api.ts'
import { faultForFile, namedForSdk } from '../names.ts'
import { unlessStopped } from '../stop-signals.ts'
import { type Batch, readBatches } from './batches.ts'
import { CallSize } from './call-size.ts'
import { followProgress } from './follow.ts'
import type { Format } from './formats.ts'
import type { Progress } from './progress-file.ts'
import type { Fault, ImportRow, Place } from './rows.ts'

export interface Order {
  readonly keys: KeysApi['keys']
  readonly path: string
  readonly format: Format
  readonly projectId: string
  readonly env: Env
  readonly from: string | null
  readonly createTenants: boolean
  readonly dryRun: boolean
  readonly stop: AbortSignal
}

export type Counts = Omit<Progress, 'failedBytes' | 'total'>

/** A row that was not imported, with its place in the file and the members that could be read. */
export interface Failed {
  readonly record: number
  readonly row: Partial<ImportRow>
  /** Its own system refuses the key, and this service does not. */
  readonly ended?: true
  readonly errors: readonly Fault[]
}

/** As many faults are shown. */
const shownMost = 10

export const noCounts: Counts = {
  records: 0,
  created: 0,
  existing: 0,
  inactive: 0,
  ended: 0,
  others: 0,
  failed: 0,
}

/** What a run has come to. */
export interface Sent {
  readonly counts: Counts
  /** The first faults, for people. */
  readonly faults: string[]
  /** Whether the file says that another page follows its last one. */
  readonly goesOn: boolean
}

/**
 * Sends all rows of a file.
 * @param begun where an earlier run stopped; null: at the start
 * @param onAnswer called after each call with the counts so far and the rows that failed in it
 */
export async function sendAll(
  order: Order,
  begun: Progress | null,
  onAnswer: (counts: Counts, failed: readonly Failed[]) => Promise<void> = async () => {},
): Promise<Sent> {
  const { records, created, existing, inactive, ended, others, failed } = begun ?? noCounts
  const counts = { records, created, existing, inactive, ended, others, failed }
  const faults: string[] = []
  const size = new CallSize()
  const shown = followProgress(order.dryRun ? 'Trying' : 'Importing', begun?.total ?? null)
  const place: Place = {
    now: systemClock.now(),
    env: order.env,
    from: order.from,
    listedAt: (await stat(order.path)).mtimeMs,
    seen: null,
  }
  const stopped = () =>
    order.dryRun
      ? 'Nothing was imported.'
      : `Stopped behind record ${counts.records}. The same command goes on there.`
  try {
    for await (const batch of readBatches(order.path, order.format, counts.records, place)) {
      const failed = await unlessStopped(order.stop, stopped, () => sendBatch(order, batch, counts, size))
      for (const one of failed) if (faults.length < shownMost) faults.push(sayFault(one))
      await onAnswer(counts, failed)
      shown.at(counts.records)
    }
  } finally {
    shown.end()
  }
  return { counts, faults, goesOn: place.goesOn === true }
}

/** Counts a batch once all of it is answered. */
async function sendBatch(
  order: Order,
  { items, records }: Batch,
  counts: Counts,
  size: CallSize,
): Promise<Failed[]> {
  const failed: Failed[] = []
  const rows: { record: number; row: ImportRow }[] = []
  const ended: { record: number; row: ImportRow }[] = []
  const added = { created: 0, existing: 0, inactive: 0, ended: 0, others: 0 }
  for (const item of items) {
    if ('row' in item) rows.push(item)
    else if ('leftOut' in item) {
      added[item.leftOut] += 1
      if (item.ended !== undefined) ended.push({ record: item.record, row: item.ended })
    } else failed.push({ record: item.record, row: item.part, errors: item.faults })
  }
  const survivors = await findActive(order, ended, size)
  added.ended -= survivors.length
  failed.push(...survivors)
  const answers =
    rows.length === 0
      ? []
      : await sendRows(
          order,
          rows.map(({ row }) => row),
          size,
        )
  for (const [at, { status, active, errors = [] }] of answers.entries()) {
    const sent = rows[at]
    if (sent === undefined) break
    if (status === 'created') added.created += 1
    else if (status === 'exists') added.existing += 1
    else failed.push({ ...sent, errors: errors.map(faultForFile) })
    if (status !== 'invalid' && active === false && !saysInactive(sent.row)) added.inactive += 1
  }
  for (const [name, more] of Object.entries(added)) counts[name as keyof typeof added] += more
  counts.failed += failed.length
  counts.records = records
  return failed.toSorted((a, b) => a.record - b.record)
}

/**
 * Keys that have ended in their own system, and that an earlier import made active here: after the switch they would work again. A trial
 * of their digests finds them, whoever their customer is now: the answer to a row of no customer says whose key has its digest.
 */
async function findActive(
  order: Order,
  ended: readonly { record: number; row: ImportRow }[],
  size: CallSize,
): Promise<Failed[]> {
  if (ended.length === 0) return []
  const rows = ended.map(({ row: { digest } }) => ({ digest, external_id: 'nobody' }))
  const answers = await sendRows({ ...order, dryRun: true, createTenants: false }, rows, size).catch(
    error => {
      throw order.dryRun || error instanceof CommandFailed ? error : goesOn(error)
    },
  )
  return ended.flatMap(({ record, row }, at) => {
    const { active, id } = answers[at] ?? {}
    if (active !== true || id === null) return []
    const message = `the key has ended in its own system, and is active here: revoke it, its id is ${id}`
    return [{ record, row, ended: true as const, errors: [{ path: '', message }] }]
  })
}

/** Whether the row itself pauses its key, or says that it has expired. */
const saysInactive = ({ disabled_at, expires_at }: ImportRow): boolean =>
  disabled_at !== undefined || (expires_at !== undefined && Date.parse(expires_at) <= systemClock.now())

interface Answer {
  readonly status: 'created' | 'exists' | 'invalid'
  /** Null: there is none, or none yet. */
  readonly id?: string | null
  /** Whether servers accept the key. */
  readonly active?: boolean
  readonly errors?: readonly Fault[]
}

/** In as many calls as the service needs to answer each in time. */
async function sendRows(
  order: Order,
  rows: readonly ImportRow[],
  size: CallSize,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  while (answers.length < rows.length)
    answers.push(...(await sendSome(order, rows.slice(answers.length, answers.length + size.rows), size)))
  return answers
}

/**
 * A row that the service does not read as JSON costs its call. It is found by halves.
 * @returns the answers of all rows; of none where smaller calls have to follow
 */
async function sendSome(
  order: Order,
  rows: readonly ImportRow[],
  size: CallSize,
): Promise<readonly Answer[]> {
  try {
    const answers = await callOnce(order, rows, size.retries)
    size.answered(rows.length)
    return answers
  } catch (error) {
    // A fault of this program is the same the next time.
    if (error instanceof CommandFailed || error instanceof TypeError) throw error
    const { status = 0, message } = error as { status?: number; message: string }
    if (status === 400 || status === 413) {
      if (rows.length === 1) return [{ status: 'invalid', errors: [{ path: '', message }] }]
      const middle = Math.ceil(rows.length / 2)
      const first = await sendRows(order, rows.slice(0, middle), size)
      return [...first, ...(await sendRows(order, rows.slice(middle), size))]
    }
    if (!order.stop.aborted && isPassing(status) && size.failed(rows.length)) return []
    throw order.dryRun ? error : goesOn(error as Error)
  }
}

/** No answer, or one that the same call may not get again. */
const isPassing = (status: number): boolean =>
  status === 0 || status === 408 || status === 429 || status >= 500

async function callOnce(
  { keys, projectId, env, createTenants, dryRun, stop }: Order,
  rows: readonly ImportRow[],
  maxRetries: number,
): Promise<readonly Answer[]> {
  const body = { projectId, env, createTenants, dryRun, rows: rows.map(namedForSdk) }
  const { rows: answers } = await keys.import(body, { maxRetries, signal: stop })
  if (answers.length === rows.length) return answers
  throw new CommandFailed('The service answered another number of rows than it got.')
}

const goesOn = (error: Error): CommandFailed =>
  new CommandFailed(`${error.message}\nThe same command goes on where it stopped.`)

export const sayCounts = ({ records, created, existing, ended, others, failed }: Counts): string =>
  [
    `${records} records`,
    `${created} new`,
    `${existing} there already`,
    ...(ended > 0 ? [`${ended} ended and left out`] : []),
    ...(others > 0 ? [`${others} of another environment or project and left out`] : []),
    `${failed} failed`,
  ].join(', ')

/** Null: servers accept all keys but those whose rows say otherwise. */
export const sayInactive = ({ inactive }: Counts): string | null =>
  inactive === 0
    ? null
    : `${inactive} of them are not active: the lifetime of keys in the project has passed, the customer is suspended, or the key was there and is revoked, paused or expired.`

const sayFault = ({ record, errors }: Failed): string =>
  `record ${record}: ${errors.map(({ path, message }) => `${path}${path === '' ? '' : ': '}${message}`).join('; ')}`
