import pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Connection, clientConfig } from './connection.ts'
import { deadlineMs } from './deadline.ts'
import { isConnectionLost, isDeadlock, refusalOf } from './errors.ts'
import type { Hints } from './hints.ts'
import { createLines, type Line, tooManyWait } from './lines.ts'
import type { Scope, Standing } from './opening.ts'
import type { Right } from './right.ts'
import { watchForSilence } from './silence.ts'
import { admit } from './timeline.ts'
import { type PersonTx, type Transaction, type Tx, transact, type Work } from './transaction.ts'

/** Deleting a project or tenant revokes every key of it, a row each, in one transaction. */
export const cascadeMs = 60_000

/**
 * How much of its time a request may wait for its turn. Whoever began in the last moment would be cut off in the midst of
 * its work, and a connection with it; to open another costs as much as several requests.
 */
const waitShare = 0.75

interface RightsOptions {
  /** Whether it ends rights, with `endRights`: those who do so go one after the other. */
  changesRights?: boolean
}

export interface WorkOptions extends RightsOptions {
  /**
   * A work that may rightly take longer than a request usually does, such as revoking every key of a
   * project. Waiting for a connection, for each lock, and for a store that has fallen silent stays bounded as ever.
   */
  longWorkMs?: number
  /** Whose rows are seen beside those of the workspace. */
  userId?: string
  /** In whose name it waits for a connection, where that is not the workspace. */
  inNameOf?: string
}

export interface PersonWorkOptions extends RightsOptions {
  /** The person has just proved who they are, on a route that is open to strangers. */
  isProven?: boolean
}

export interface Db {
  /**
   * Runs one transaction that sees one workspace: row-level security is set to it and the role is one
   * that owns nothing. A deadlock is retried once, so `work` may run twice.
   * @throws {Refusal} `unavailable` when the store does not answer in time; otherwise what `work` threw.
   */
  inWorkspace<T>(workspaceId: string, work: Work<T>, options?: WorkOptions): Promise<T>
  /** The same, seeing what is one person's own and of no workspace. */
  asPerson<T>(userId: string, work: Work<T, PersonTx>, options?: PersonWorkOptions): Promise<T>
  /** The same store for one request that must be answered by then, on the clock of `performance.now()`. */
  until(deadline: number): Db
  /**
   * The same store for one mutation: each of its transactions holds the caller's right.
   * @throws {RightGone} from a transaction whose right has ended.
   */
  holding(right: Right): Db
  /** The same store for who has proved nothing: it waits in the small line of strangers, in its network's turn. */
  forStranger(network: string): Db
  /** The same store for a work of the service itself, which waits in a name of its own. */
  forService(name: string): Db
  /** How many connections are open, idle, how many callers wait, and in how many names. */
  depth(): { total: number; idle: number; waiting: number; parties: number }
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
    onConnect: admit,
    max: poolSize,
  } as pg.PoolConfig)
  const lines = createLines(poolSize)
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))

  async function once<T>(
    { scope, standing, until, line }: Terms,
    work: Work<T, Transaction & Scope>,
  ): Promise<T> {
    const leftMs = until - performance.now()
    // A timer of the past would go off behind what a connection was taken for.
    if (leftMs <= 0) throw new Refusal('unavailable')
    const turn = lines.enter(line)
    const expired = Promise.withResolvers<never>()
    expired.promise.catch(() => {})
    const expire = () => expired.reject(new Refusal('unavailable'))
    let timer: NodeJS.Timeout | undefined
    let watch: ReturnType<typeof watchForSilence> | null = null
    let connecting: Promise<pg.PoolClient> | undefined
    let client: pg.PoolClient | undefined
    let broken = true
    try {
      if (turn.come !== null) {
        // However long the work may take, it waits for its turn no longer than any other.
        const giveUp = () => expired.reject(tooManyWait())
        timer = setTimeout(giveUp, Math.min(leftMs, deadlineMs) * waitShare)
        await Promise.race([turn.come, expired.promise])
        clearTimeout(timer)
      }
      timer = setTimeout(expire, until - performance.now())
      if (isLong(line)) watch = watchForSilence(connection)
      connecting = pool.connect()
      client = await Promise.race([connecting, expired.promise])
      // Told to Postgres a little below ours, so that it drops a statement that we are about to give up.
      const statementMs = Math.max(Math.floor(until - performance.now()) - 100, 50)
      const lockMs = Math.min(statementMs, deadlineMs - 100)
      const running = transact(client, scope, standing, { statementMs, lockMs }, work, hints)
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
      // Its place is free when its connection is.
      if (client !== undefined) {
        client.release(broken)
        turn.end()
      } else if (connecting === undefined) turn.end()
      else
        connecting
          .then(
            late => late.release(),
            () => {},
          )
          .finally(turn.end)
    }
  }

  async function twice<T>(terms: Terms, work: Work<T, Transaction & Scope>): Promise<T> {
    try {
      return await once(terms, work)
    } catch (error) {
      if (!isDeadlock(error)) throw refusalOf(error)
      observer.deadlockRetried()
      return await once(terms, work).catch(second => Promise.reject(refusalOf(second)))
    }
  }

  const dbFor = (own: Own): Db => ({
    inWorkspace(workspaceId, work, options = {}) {
      const { longWorkMs, userId = null, inNameOf = workspaceId, changesRights = false } = options
      const now = performance.now()
      const isLong = longWorkMs !== undefined
      const until = isLong ? now + longWorkMs : (own.deadline ?? now + deadlineMs)
      const line = own.line ?? { kind: 'party', name: inNameOf, isLong }
      const terms = {
        scope: { workspaceId, userId },
        standing: { right: own.right, changesRights, isLong },
        until,
        line,
      }
      return twice(terms, tx => work(tx as Tx))
    },
    asPerson(userId, work, { isProven = false, changesRights = false } = {}) {
      const until = own.deadline ?? performance.now() + deadlineMs
      const line = (isProven ? null : own.line) ?? { kind: 'party', name: userId }
      const scope = { workspaceId: null, userId }
      return twice({ scope, standing: { right: own.right, changesRights, isLong: false }, until, line }, tx =>
        work(tx as PersonTx),
      )
    },
    until: deadline => dbFor({ ...own, deadline }),
    holding: right => dbFor({ ...own, right }),
    forStranger: network => dbFor({ ...own, line: { kind: 'stranger', network } }),
    forService: name => dbFor({ ...own, line: { kind: 'party', name } }),
    depth() {
      const { waiting, parties } = lines.depth()
      return { total: pool.totalCount, idle: pool.idleCount, waiting: waiting + pool.waitingCount, parties }
    },
    close: () => pool.end(),
  })
  return dbFor({ deadline: null, line: null, right: null })
}

/** What a store is bound to. */
interface Own {
  readonly deadline: number | null
  /** In whose line all of its works wait; null: each in its own workspace's or person's. */
  readonly line: Line | null
  readonly right: Right | null
}

/** All that a transaction is opened with. */
interface Terms {
  readonly scope: Scope
  readonly standing: Standing
  /** On the clock of `performance.now()`. */
  readonly until: number
  readonly line: Line
}

const isLong = (line: Line) => line.kind === 'party' && line.isLong === true

/** An error that Postgres itself reported over a connection that lives on. */
const isPlainSqlError = (error: unknown) => error instanceof pg.DatabaseError && !isConnectionLost(error)
