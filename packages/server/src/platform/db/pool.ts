import pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Connection, clientConfig } from './connection.ts'
import { isDeadlock, refusalOf } from './errors.ts'
import { transact, type Work } from './transaction.ts'

/** A request to the store is answered within this, or with 503. */
export const deadlineMs = 1_900

/** Deleting a project or tenant revokes every key of it, a row each, in one transaction. */
export const cascadeMs = 60_000

export interface WorkOptions {
  /**
   * A work that may rightly take longer than a request usually does, such as revoking every key of a
   * project. Waiting for a connection and for locks stays bounded as ever.
   */
  longWorkMs?: number
}

export interface Db {
  /**
   * Runs one transaction that sees one workspace: row-level security is set to it and the role is one
   * that owns nothing. A deadlock is retried once, so `work` may run twice.
   * @throws {Refusal} `unavailable` when the store does not answer in time; otherwise what `work` threw.
   */
  inWorkspace<T>(workspaceId: string, work: Work<T>, options?: WorkOptions): Promise<T>
  /** How many connections are open, idle, and how many callers wait. */
  depth(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

export interface DbObserver {
  deadlockRetried(): void
}

export function openDb(connection: Connection, poolSize: number, observer: DbObserver): Db {
  const pool = new pg.Pool({ ...clientConfig(connection, 'pool'), max: poolSize } as pg.PoolConfig)
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))

  async function once<T>(workspaceId: string, work: Work<T>, workMs: number): Promise<T> {
    const start = performance.now()
    const client = await pool.connect()
    // Waiting for a connection counts: the caller hears within the deadline, whatever took the time.
    const leftMs = Math.max(Math.ceil(workMs - (performance.now() - start)), 200)
    const expired = Promise.withResolvers<never>()
    const timer = setTimeout(() => expired.reject(new Refusal('unavailable')), leftMs)
    let broken = true
    try {
      // Told to Postgres a little below ours, so that it drops a statement we are about to give up.
      const running = transact(client, workspaceId, leftMs - 100, work)
      running.catch(() => {})
      const result = await Promise.race([running, expired.promise])
      broken = false
      return result
    } catch (error) {
      // A connection whose last statement is not known to have ended is not handed to anyone else.
      broken = error instanceof Refusal ? error.code === 'unavailable' : !isPlainSqlError(error)
      throw error
    } finally {
      clearTimeout(timer)
      client.release(broken)
    }
  }

  return {
    async inWorkspace(workspaceId, work, { longWorkMs } = {}) {
      const workMs = longWorkMs ?? deadlineMs
      try {
        return await once(workspaceId, work, workMs)
      } catch (error) {
        if (!isDeadlock(error)) throw refusalOf(error)
        observer.deadlockRetried()
        return await once(workspaceId, work, workMs).catch(second => Promise.reject(refusalOf(second)))
      }
    },
    depth: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

/** An error that Postgres itself reported over a connection that lives on. */
const isPlainSqlError = (error: unknown) =>
  error instanceof pg.DatabaseError &&
  !String(error.code).startsWith('57P') &&
  !String(error.code).startsWith('08')
