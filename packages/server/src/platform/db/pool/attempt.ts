import pg from 'pg'
import type { Budgets } from '../../budgets.ts'
import type { Deadline } from '../../concurrency/deadline.ts'
import type { Turn } from '../../concurrency/fair-queue.ts'
import { within } from '../../concurrency/within.ts'
import { NoCapacity, Refusal } from '../../refusal.ts'
import type { Connection } from '../connection.ts'
import { isBroken, isConnectionLost } from '../errors.ts'
import { startWatchdog } from '../failover/watchdog.ts'
import { endRunning } from './end-running.ts'
import type { IdleConnections } from './idle.ts'
import type { TimeLimits } from './opening.ts'
import { noTurn, type Party, type Shares } from './shares.ts'

/** For whom a transaction runs, and until when. */
export interface Terms {
  readonly deadline: Deadline
  readonly party: Party
  /** The workspace of the transaction; null: the transaction of a person. */
  readonly workspaceId: string | null
  /** Work that may take longer than a request. */
  readonly isLong: boolean
}

/**
 * Whether the time of a transaction is over: the transaction then sends nothing more, and no COMMIT follows the answer of its
 * call.
 */
export interface Lease {
  isOver: boolean
}

/** Runs a transaction, from its first statement to its last, on a connection that only this transaction uses meanwhile. */
export type Conduct<T> = (client: pg.ClientBase, limits: TimeLimits, lease: Lease) => Promise<T>

/** What a transaction takes its connection from. */
export interface Source {
  readonly pool: pg.Pool
  /** A transaction takes a place here before it takes a connection, and gives the place back after the connection. */
  readonly shares: Shares
  /** For the watchdog of a long transaction, which needs a connection outside of the pool. */
  readonly connection: Connection
  readonly budgets: Budgets
  readonly idle: Pick<IdleConnections, 'dropAll'>
  readonly loads: ConnectionLoads
}

export interface ConnectionLoads {
  /** A transaction of a workspace gave its connection back. @param ms how long it had the connection. */
  countConnection(workspaceId: string, ms: number): void
}

/**
 * The share of its time that a request may wait for its turn. A request that starts in the last moment is cut off during
 * its work, which costs a connection; opening another costs as much as several requests.
 */
const turnShare = 0.75
/** Postgres cancels a statement this much earlier, so that Postgres does not work for a call that has been answered. */
const marginMs = 100
/** The least that a statement gets, when the call has almost no time left. */
const statementMsMin = 50

/**
 * Runs a transaction once: waits for its turn, takes a connection, runs the work and gives turn and connection back, all within
 * the deadline.
 * @throws {Refusal} `unavailable` when the time is over; otherwise what Postgres or `work` threw.
 */
export async function attempt<T>(
  source: Source,
  { deadline, party, isLong, workspaceId }: Terms,
  conduct: Conduct<T>,
): Promise<T> {
  // The call has been answered already: take no connection for it.
  if (deadline.leftMs() <= 0) throw late()
  const turn = source.shares.enter(party)
  const client = await takeConnection(source, turn, deadline)
  const takenAt = performance.now()
  const watch = isLong ? startWatchdog(source.connection, source.budgets.watchdogMs) : null
  const lease: Lease = { isOver: false }
  let isUsable = false
  let isRunning = true
  const giveBack = () => {
    client.release(!isUsable)
    turn.end()
    if (workspaceId !== null) source.loads.countConnection(workspaceId, performance.now() - takenAt)
  }
  const running = conduct(client, limitsOf(deadline, source.budgets), lease)
  try {
    const stop = () => {
      isRunning = false
    }
    running.then(stop, stop)
    const result = await within(deadline.leftMs(), late, watch ? [running, watch.unanswered] : [running])
    isUsable = true
    return result
  } catch (error) {
    isUsable = leavesUsable(error)
    if (isBroken(error)) source.idle.dropAll()
    throw error
  } finally {
    watch?.stop()
    // The transaction keeps its place until Postgres has ended it too, but the caller does not wait for that.
    lease.isOver = true
    if (isRunning) void endRunning(client, running, source.budgets.watchdogMs).then(giveBack)
    else giveBack()
  }
}

/** @throws {Refusal} `unavailable`. If a connection still arrives, the turn is given back after it. */
async function takeConnection(
  { pool, budgets }: Source,
  turn: Turn,
  deadline: Deadline,
): Promise<pg.PoolClient> {
  if (turn.come !== null) {
    // A long transaction waits for its turn no longer than a short one.
    const turnMs = Math.min(deadline.leftMs(), budgets.requestMs) * turnShare
    try {
      await within(turnMs, () => noTurn(turn), [turn.come])
    } catch (error) {
      turn.end()
      throw error
    }
  }
  const connecting = pool.connect()
  try {
    return await within(deadline.leftMs(), late, [connecting])
  } catch (error) {
    connecting
      .then(
        client => client.release(),
        () => {},
      )
      .finally(turn.end)
    throw error
  }
}

/** The limits that Postgres enforces. A long transaction waits for a lock no longer than a short one. */
function limitsOf(deadline: Deadline, { requestMs }: Budgets): TimeLimits {
  const statementMs = Math.max(Math.floor(deadline.leftMs()) - marginMs, statementMsMin)
  return { statementMs, lockMs: Math.min(statementMs, requestMs - marginMs) }
}

const late = () => new Refusal('unavailable')

/**
 * Whether the next transaction can use the connection after this error: only if its last statement has certainly ended, as
 * after a refusal by the work itself, or after an error that Postgres reported over a live connection.
 */
const leavesUsable = (error: unknown): boolean =>
  error instanceof Refusal
    ? error.code !== 'unavailable' || error instanceof NoCapacity
    : error instanceof pg.DatabaseError && !isConnectionLost(error)
