/**
 * The connections on which transactions run. `shares.ts` gives each party its part; an `attempt.ts` takes a connection,
 * `opening.ts` begins the transaction for its scope, `flight.ts` sends statements without waiting (`parameter.ts`: a
 * value as sent), `transaction-control.ts` has BEGIN and COMMIT; `unconfirmed.ts` is a commit without its standby.
 * `read-at-once.ts` reads in one flight, `read-in-order.ts` plans once. `end-running.ts`, `cancel-request.ts` and
 * `destroy-socket.ts` stop what runs too long, `idle.ts` drops what broke, `errands.ts` has connections of its own,
 * `connection-need.ts` counts all.
 */

import pg from 'pg'
import type { Budgets } from '../../budgets.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import { postgres, span } from '../../observe/tracing.ts'
import { type Connection, clientConfig, prepareClient } from '../connection.ts'
import type { Bound, Db, PersonWorkOptions, WorkOptions } from '../db.ts'
import { beforeCommit, isBroken, isUndone, LostUncommitted, refusalOf } from '../errors.ts'
import { followNewestPrimary } from '../failover/newest-primary.ts'
import { admitTo } from '../failover/timeline.ts'
import type { Lanes } from '../lanes/lanes.ts'
import type { Hints } from '../listen/hints.ts'
import { countRefusal, type RefusalObserver } from '../refusals.ts'
import { type PersonTx, type ReadTx, type Transaction, type Tx, transact, type Work } from '../transaction.ts'
import { attempt, type Conduct, type ConnectionLoads, type Source, type Terms } from './attempt.ts'
import { destroySocket } from './destroy-socket.ts'
import type { Scope, Standing } from './opening.ts'
import { readAtOnce } from './read-at-once.ts'
import { createShares, type Party } from './shares.ts'

/** The connections on which transactions run. Each call gets a `Db` that is bound to the call. */
export interface Pool {
  /** @param bound a function is asked at each transaction */
  bind(bound: Bound | (() => Bound)): Db
  /** How many connections are open, idle, how many callers wait, and in how many names. */
  depth(): { total: number; idle: number; waiting: number; parties: number }
  close(): Promise<void>
}

export interface PoolParts {
  readonly connection: Connection
  /** How many connections the pool may open. */
  readonly size: number
  /** Among which the callers are divided that may wait; unset: one. */
  readonly processes?: number
  readonly budgets: Budgets
  readonly hints: Pick<Hints, 'announce'>
  /** The lanes of the same database: when a connection breaks, pool and lanes drop their idle ones. */
  readonly lanes: Pick<Lanes, 'idle'>
  readonly observer: DbObserver
  readonly loads?: ConnectionLoads
}

export interface DbObserver extends RefusalObserver {
  deadlockRetried(): void
}

/**
 * How long an idle connection is kept, in ms. Opening a connection costs Postgres as much as ten mutations: Postgres starts a
 * process, which plans each statement again, and the burst after a pause would wait for it.
 */
const idleMs = 300_000

export function openPool({
  connection,
  size,
  processes = 1,
  budgets,
  hints,
  lanes: { idle },
  observer,
  loads = { countConnection: () => {} },
}: PoolParts): Pool {
  const stopFollowing = followNewestPrimary(connection)
  // Not pipelined by the driver: a flight carries the statements that can go together, and the next flight waits for it.
  const pool = new pg.Pool({
    ...clientConfig(connection, 'pool'),
    pipeline: false,
    onConnect: admitTo(connection),
    max: size,
    idleTimeoutMillis: idleMs,
  } as pg.PoolConfig)
  // Without a listener, an error on an idle connection would end the process.
  pool.on('error', error => isBroken(error) && idle.dropAll())
  pool.on('connect', prepareClient)
  idle.add(dropperOf(pool))
  const shares = createShares(size, undefined, processes)
  const source: Source = { pool, shares, connection, budgets, idle, loads }

  /**
   * Runs a transaction again, once, if Postgres undid it in favour of another, or if its connection broke before COMMIT was
   * sent.
   */
  const runTraced: Run = (terms, conduct) => span('transaction', postgres, () => run(terms, conduct))
  const attemptOnce: Run = async (terms, conduct) => {
    try {
      return await attempt(source, terms, conduct)
    } catch (error) {
      countRefusal(observer, error)
      throw error
    }
  }
  const run: Run = async (terms, conduct) => {
    try {
      return await attemptOnce(terms, conduct)
    } catch (error) {
      if (isUndone(error)) observer.deadlockRetried()
      else if (!(error instanceof LostUncommitted)) throw refusalOf(error)
      return await attemptOnce(terms, conduct).catch(second => Promise.reject(refusalOf(second)))
    }
  }
  return {
    bind: bound => new BoundDb(runTraced, hints, budgets.requestMs, bound),
    depth() {
      const { waiting, parties } = shares.depth()
      return { total: pool.totalCount, idle: pool.idleCount, waiting: waiting + pool.waitingCount, parties }
    },
    close() {
      stopFollowing()
      return pool.end()
    },
  }
}

/** Drops the idle connections of the pool, which the driver does not list. */
function dropperOf(pool: pg.Pool): () => void {
  const idle = new Set<pg.PoolClient>()
  pool.on('release', (error, client) => void (error || idle.add(client)))
  pool.on('acquire', client => void idle.delete(client))
  pool.on('remove', client => void idle.delete(client))
  return () => {
    for (const client of idle) {
      // The pool forgets an idle connection at its error; a cut socket alone would be noticed too late.
      client.emit('error', new Error('Connection terminated, because another one broke'))
      destroySocket(client)
    }
    idle.clear()
  }
}

type Run = <T>(terms: Terms, conduct: Conduct<T>) => Promise<T>

/** The only place that turns a call's `Bound` into the terms of a transaction. */
class BoundDb implements Db {
  readonly #run: Run
  readonly #hints: Pick<Hints, 'announce'>
  readonly #requestMs: number
  readonly #given: Bound | (() => Bound)

  constructor(run: Run, hints: Pick<Hints, 'announce'>, requestMs: number, given: Bound | (() => Bound)) {
    this.#run = run
    this.#hints = hints
    this.#requestMs = requestMs
    this.#given = given
  }

  get #bound(): Bound {
    return typeof this.#given === 'function' ? this.#given() : this.#given
  }

  inWorkspace<T>(workspaceId: string, work: Work<T>, options: WorkOptions = {}): Promise<T> {
    const { longWorkMs, userId = null, inNameOf = workspaceId, changesRights = false } = options
    const isLong = longWorkMs !== undefined
    const terms: Terms = {
      deadline: isLong ? new Deadline(longWorkMs) : this.#deadline(),
      party: this.#bound.party ?? this.#party(inNameOf, isLong),
      isLong,
      workspaceId,
    }
    const standing = this.#standing(changesRights, isLong)
    const { sender } = this.#bound
    const scope = { workspaceId, userId, ...(sender !== undefined && { sender }) }
    return this.#transact(terms, scope, standing, tx => work(tx as Tx))
  }

  readAtOnce<T>(workspaceId: string, work: Work<T, ReadTx>): Promise<T> {
    const terms: Terms = {
      deadline: this.#deadline(),
      party: this.#bound.party ?? this.#party(workspaceId),
      isLong: false,
      workspaceId,
    }
    const read: Conduct<T> = async (client, limits) => {
      try {
        return await readAtOnce(client, workspaceId, limits, work, this.#bound.holdRows)
      } catch (error) {
        throw beforeCommit(error)
      }
    }
    return this.#run(terms, read)
  }

  asPerson<T>(userId: string, work: Work<T, PersonTx>, options: PersonWorkOptions = {}): Promise<T> {
    const { isProven = false, changesRights = false } = options
    const terms: Terms = {
      deadline: this.#deadline(),
      party: (isProven ? null : this.#bound.party) ?? this.#party(userId),
      isLong: false,
      workspaceId: null,
    }
    const standing = this.#standing(changesRights, false)
    return this.#transact(terms, { workspaceId: null, userId }, standing, tx => work(tx as PersonTx))
  }

  by(deadline: Deadline): Db {
    return new BoundDb(this.#run, this.#hints, this.#requestMs, { ...this.#bound, deadline })
  }

  #party(name: string, isLong = false): Party {
    const { place } = this.#bound
    return { kind: 'party', name, isLong, ...(place !== undefined && { place }) }
  }

  #standing(changesRights: boolean, isLong: boolean): Standing {
    const { right, isConfirmed } = this.#bound
    return { right, changesRights, isLong, isConfirmed }
  }

  #deadline(): Deadline {
    return this.#bound.deadline ?? new Deadline(this.#requestMs)
  }

  #transact<T>(
    terms: Terms,
    scope: Scope,
    standing: Standing,
    work: Work<T, Transaction & Scope>,
  ): Promise<T> {
    return this.#run(terms, (client, limits, lease) =>
      transact(client, scope, standing, limits, lease, work, {
        announce: topic => this.#hints.announce(topic),
        holdRows: this.#bound.holdRows,
      }),
    )
  }
}
