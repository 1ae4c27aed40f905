import pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Connection, clientConfig } from './connection.ts'
import { deadlineMs } from './deadline.ts'
import { isDeadlock, refusalOf } from './errors.ts'
import type { Hints } from './hints.ts'
import { watchForSilence } from './silence.ts'
import { type PersonTx, type Scope, type Transaction, type Tx, transact, type Work } from './transaction.ts'

/** Deleting a project or tenant revokes every key of it, a row each, in one transaction. */
export const cascadeMs = 60_000

export interface WorkOptions {
  /**
   * A work that may rightly take longer than a request usually does, such as revoking every key of a
   * project. Waiting for a connection, for each lock, and for a store that has fallen silent stays bounded as ever.
   */
  longWorkMs?: number
  /** Whose rows are seen beside those of the workspace. */
  userId?: string
}

export interface Db {
  /**
   * Runs one transaction that sees one workspace: row-level security is set to it and the role is one
   * that owns nothing. A deadlock is retried once, so `work` may run twice.
   * @throws {Refusal} `unavailable` when the store does not answer in time; otherwise what `work` threw.
   */
  inWorkspace<T>(workspaceId: string, work: Work<T>, options?: WorkOptions): Promise<T>
  /** The same, seeing what is one person's own and of no workspace. */
  asPerson<T>(userId: string, work: Work<T, PersonTx>): Promise<T>
  /** The same store for one request that must be answered by then, on the clock of `performance.now()`. */
  until(deadline: number): Db
  /** How many connections are open, idle, and how many callers wait. */
  depth(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

export interface DbObserver {
  deadlockRetried(): void
}

export function openDb(
  connection: Connection,
  poolSize: number,
  hints: Pick<Hints, 'announce'>,
  observer: DbObserver,
): Db {
  // Not pipelined by the driver: a flight carries what can go together, and the next waits for it.
  const pool = new pg.Pool({
    ...clientConfig(connection, 'pool'),
    pipeline: false,
    max: poolSize,
  } as pg.PoolConfig)
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))

  async function once<T>(
    scope: Scope,
    work: Work<T, Transaction & Scope>,
    until: number,
    isLong: boolean,
  ): Promise<T> {
    const leftMs = until - performance.now()
    // A timer of the past would go off behind what a connection was taken for.
    if (leftMs <= 0) throw new Refusal('unavailable')
    const watch = isLong ? watchForSilence(connection) : null
    const expired = Promise.withResolvers<never>()
    expired.promise.catch(() => {})
    const timer = setTimeout(() => expired.reject(new Refusal('unavailable')), leftMs)
    const connecting = pool.connect()
    let client: pg.PoolClient | undefined
    let broken = true
    try {
      client = await Promise.race([connecting, expired.promise])
      // Told to Postgres a little below ours, so that it drops a statement that we are about to give up.
      const statementMs = Math.max(Math.floor(until - performance.now()) - 100, 50)
      const lockMs = Math.min(statementMs, deadlineMs - 100)
      const running = transact(client, scope, { statementMs, lockMs }, work, hints)
      running.catch(() => {})
      const result = await Promise.race([running, expired.promise, ...(watch ? [watch.silent] : [])])
      broken = false
      return result
    } catch (error) {
      // A connection whose last statement is not known to have ended is not handed to anyone else.
      broken = error instanceof Refusal ? error.code === 'unavailable' : !isPlainSqlError(error)
      throw error
    } finally {
      clearTimeout(timer)
      watch?.stop()
      if (client === undefined)
        connecting.then(
          late => late.release(),
          () => {},
        )
      else client.release(broken)
    }
  }

  async function twice<T>(
    scope: Scope,
    work: Work<T, Transaction & Scope>,
    until: number,
    isLong: boolean,
  ): Promise<T> {
    try {
      return await once(scope, work, until, isLong)
    } catch (error) {
      if (!isDeadlock(error)) throw refusalOf(error)
      observer.deadlockRetried()
      return await once(scope, work, until, isLong).catch(second => Promise.reject(refusalOf(second)))
    }
  }

  const dbUntil = (deadline: number | null): Db => ({
    inWorkspace(workspaceId, work, { longWorkMs, userId = null } = {}) {
      const now = performance.now()
      const isLong = longWorkMs !== undefined
      const until = isLong ? now + longWorkMs : (deadline ?? now + deadlineMs)
      return twice({ workspaceId, userId }, tx => work(tx as Tx), until, isLong)
    },
    asPerson(userId, work) {
      const until = deadline ?? performance.now() + deadlineMs
      return twice({ workspaceId: null, userId }, tx => work(tx as PersonTx), until, false)
    },
    until: dbUntil,
    depth: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  })
  return dbUntil(null)
}

/** An error that Postgres itself reported over a connection that lives on. */
const isPlainSqlError = (error: unknown) =>
  error instanceof pg.DatabaseError &&
  !String(error.code).startsWith('57P') &&
  !String(error.code).startsWith('08')
