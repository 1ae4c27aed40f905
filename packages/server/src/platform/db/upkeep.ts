import type pg from 'pg'
import type { Clock } from '../clock.ts'
import type { Logger } from '../observe/log.ts'
import type { Connection } from './connection.ts'
import { isBroken } from './errors.ts'
import { connectPrimary } from './failover/timeline.ts'
import { destroySocket } from './pool/destroy-socket.ts'
import { countRefusal, type RefusalObserver } from './refusals.ts'

/**
 * Removes expired rows in small batches, or renews what is due. A chore sees every workspace, as the role that owns the tables.
 */
export interface Chore {
  name: string
  /** @param signal aborted when the service closes. @returns the number of rows that were removed or made. */
  run(client: pg.ClientBase, signal?: AbortSignal): Promise<number>
}

export interface UpkeepObserver extends RefusalObserver {
  /** A round of this process ended. @param at when, in ms since 1970; null: it failed. */
  upkeepEnded(at: number | null): void
}

/** What a process needs to run upkeep. */
export interface UpkeepParts {
  readonly connection: Connection
  readonly chores: readonly Chore[]
  readonly log: Logger
  readonly randomBytes: (size: number) => Buffer
  readonly clock: Pick<Clock, 'now'>
  readonly observer: UpkeepObserver
}

/**
 * The time between two rounds. The first round comes after a random part of this time, so that processes started together take
 * turns.
 */
const everyMs = 5 * 60_000
const turn = `select pg_try_advisory_lock(hashtextextended('keyrail.upkeep', 0)) as mine`

/**
 * Longer than Postgres lets a statement take, in ms: without this limit a socket that hangs would hold the round, and all later
 * rounds of this process, until the system gives the socket up.
 */
const answerMs = 35_000

/**
 * One round of all chores, unless another process runs one. A chore that fails does not stop the chores behind it, as long as
 * the connection holds.
 * @returns whether this process did the round.
 * @throws the error of the first chore that failed, after all chores have run.
 */
export async function doChores(
  connection: Connection,
  chores: readonly Chore[],
  log: Logger,
  signal?: AbortSignal,
  watchdogMs = answerMs,
): Promise<boolean> {
  const client = await connectPrimary({ ...connection, query_timeout: watchdogMs }, 'upkeep', false)
  const failures: unknown[] = []
  try {
    await client.query(`set statement_timeout = '30s'; set lock_timeout = '1s'`)
    const { rows } = await client.query(turn)
    if (rows[0].mine !== true) return false
    for (const { name, run } of chores) {
      if (signal?.aborted) return false
      try {
        const rows = await run(client, signal)
        if (rows > 0) log.info({ chore: name, rows }, 'upkeep')
      } catch (error) {
        if (isBroken(error)) throw error
        // A chore may have failed inside a transaction.
        await client.query('rollback')
        log.warn({ err: error, chore: name }, 'a chore of upkeep failed')
        failures.push(error)
      }
    }
  } catch (error) {
    // A regular end would wait for a socket that hangs.
    destroySocket(client)
    throw error
  } finally {
    // A regular end gives the turn back before another round asks for it.
    await client.end()
  }
  if (failures.length > 0) throw failures[0]
  return true
}

/** A round whose outcome is counted. The next round repeats what a failed round has not done. */
export async function runRound(
  { connection, chores, log, clock, observer }: Omit<UpkeepParts, 'randomBytes'>,
  signal?: AbortSignal,
  watchdogMs?: number,
): Promise<void> {
  try {
    if (await doChores(connection, chores, log, signal, watchdogMs)) observer.upkeepEnded(clock.now())
  } catch (error) {
    observer.upkeepEnded(null)
    countRefusal(observer, error)
    log.warn({ err: error }, 'upkeep failed')
  }
}

/** @returns a function that stops it, and waits for the running chore. */
export function startUpkeep(parts: UpkeepParts): () => Promise<void> {
  const stopped = new AbortController()
  let timer: NodeJS.Timeout
  let round = Promise.resolve()
  const plan = (ms: number) => {
    timer = setTimeout(() => {
      round = runRound(parts, stopped.signal).then(() => {
        if (!stopped.signal.aborted) plan(everyMs)
      })
    }, ms).unref()
  }
  plan(everyMs * (0.1 + (0.4 * (parts.randomBytes(1)[0] ?? 0)) / 256))
  return async () => {
    stopped.abort()
    clearTimeout(timer)
    await round
  }
}

/** Repeats a statement that removes a batch and returns its size, until no rows are left. */
export async function untilNone(batch: () => Promise<number>): Promise<number> {
  let removed = 0
  for (let some = await batch(); some > 0; some = await batch()) removed += some
  return removed
}

/** A small batch: Postgres looks for references to each row, some of them without an index. */
const someAtOnce = 100
/** A limit, so that a backlog does not keep other chores waiting. The next round goes on. */
const batchesMost = 20

/**
 * Repeats a statement that removes at most `$1` rows, until no rows are left or the round has removed enough.
 * @returns how many rows were removed.
 */
export async function pruneSome(client: pg.ClientBase, statement: string): Promise<number> {
  let removed = 0
  for (let batch = 0; batch < batchesMost; batch += 1) {
    const some = (await client.query(statement, [someAtOnce])).rowCount ?? 0
    removed += some
    if (some === 0) break
  }
  return removed
}
