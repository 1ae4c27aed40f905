import type pg from 'pg'
import type { Budgets } from '../../budgets.ts'
import { Ending } from '../../concurrency/ending.ts'
import { Refusal } from '../../refusal.ts'
import type { Connection } from '../connection.ts'
import { isBroken, isConnectionLost } from '../errors.ts'
import { connectPrimary } from '../failover/timeline.ts'
import { destroySocket } from '../pool/destroy-socket.ts'
import { endRunning } from '../pool/end-running.ts'
import type { IdleConnections } from '../pool/idle.ts'

/**
 * Connections on which one or several lanes send their batches. A connection opens when batches need it, and again after it was
 * lost: a connection that dies while idle is forgotten at once, so that no batch is sent on it.
 */
export interface LaneConnections {
  /**
   * Runs a batch on one of the connections.
   * @param send gets a function that gives the connection up.
   * @param reopened is called when the connection was opened in place of a lost one.
   * @throws {Refusal} `unavailable` when no connection is free within the time of a request.
   */
  carry<T>(send: (client: pg.Client, giveUp: () => void) => Promise<T>, reopened: () => void): Promise<T>
  /** Ends the connections. No batch may be under way. */
  close(): Promise<void>
}

export interface LaneConnectionsParts {
  readonly connection: Connection
  /** The name of the connections in `pg_stat_activity`. */
  readonly name: string
  readonly most: number
  /**
   * Whether a batch is sent while other batches are under way on the same connection, which answers them in turn. If not, each
   * batch has a connection to itself until the batch has its answer.
   */
  readonly isShared: boolean
  /** SQL that each connection runs when it opens, after the settings of every lane. */
  readonly settings?: string
  readonly budgets: Budgets
  readonly idle: IdleConnections
}

/** An open connection. */
interface Carrier {
  readonly client: pg.Client
  /** The times at which the batches under way were sent, the oldest first. */
  readonly sentAt: number[]
  /** Comes when the connection is given up, and fails every batch that it carries. */
  readonly gone: Ending
}

/**
 * The pause after a further connection could not be opened beside the open ones, for example at the server's limit.
 * Milliseconds.
 */
const growPauseMs = 1_000

export const openLaneConnections = (parts: LaneConnectionsParts): LaneConnections => new Carriers(parts)

class Carriers implements LaneConnections {
  readonly #parts: LaneConnectionsParts
  readonly #carriers = new Set<Carrier>()
  readonly #waiting = new Waiting()
  /** Connections that are being opened, and connections that Postgres has not ended yet. */
  #inBetween = 0
  #lost = 0
  #growsAt = 0
  #isClosed = false

  constructor(parts: LaneConnectionsParts) {
    this.#parts = parts
    parts.idle.add(() => {
      for (const carrier of this.#carriers) if (carrier.sentAt.length === 0) this.#drop(carrier)
    })
  }

  async carry<T>(
    send: (client: pg.Client, giveUp: () => void) => Promise<T>,
    reopened: () => void,
  ): Promise<T> {
    const sentAt = performance.now()
    const carrier = await this.#take(sentAt, reopened)
    const answering = send(carrier.client, () => this.#drop(carrier)).catch(error => {
      if (isConnectionLost(error)) this.#lose(carrier, error)
      throw error
    })
    // After this time every caller of the batch has its answer.
    const timer = setTimeout(() => void this.#end(carrier, answering), this.#parts.budgets.requestMs)
    try {
      return await carrier.gone.during(answering)
    } finally {
      clearTimeout(timer)
      carrier.sentAt.splice(carrier.sentAt.indexOf(sentAt), 1)
      if (carrier.sentAt.length === 0) this.#waiting.callOne()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#carriers].map(({ client }) => client.end()))
    this.#carriers.clear()
  }

  async #take(sentAt: number, reopened: () => void): Promise<Carrier> {
    for (let isCalled = false; ; isCalled = true) {
      const isMyTurn = isCalled || this.#waiting.isEmpty
      const chosen = isMyTurn ? this.#choose() : null
      if (chosen !== null) {
        if (chosen.sentAt.push(sentAt) > 1) this.#grow(reopened)
        return chosen
      }
      if (isMyTurn && this.#mayOpen()) return await this.#open([sentAt], reopened)
      await this.#waiting.wait(sentAt + this.#parts.budgets.requestMs, isCalled)
    }
  }

  /**
   * Chooses a free connection, or else the one whose oldest batch was sent last: so few batches wait behind one that is stuck.
   */
  #choose(): Carrier | null {
    let best: Carrier | null = null
    for (const carrier of this.#carriers)
      if (
        (this.#parts.isShared || carrier.sentAt.length === 0) &&
        (best === null || headOf(carrier) > headOf(best))
      )
        best = carrier
    return best
  }

  #mayOpen(): boolean {
    return this.#carriers.size + this.#inBetween < this.#parts.most
  }

  /** Opens a further connection for later batches. The present batch does not wait for it. */
  #grow(reopened: () => void): void {
    if (!this.#mayOpen() || this.#inBetween > 0 || performance.now() < this.#growsAt) return
    this.#open([], reopened).catch(() => {
      this.#growsAt = performance.now() + growPauseMs
    })
  }

  async #open(sentAt: number[], reopened: () => void): Promise<Carrier> {
    this.#inBetween += 1
    try {
      const client = await openClient(this.#parts)
      const carrier: Carrier = { client, sentAt, gone: new Ending() }
      client.on('error', error => this.#lose(carrier, error))
      if (this.#isClosed) destroySocket(client)
      this.#carriers.add(carrier)
      if (this.#lost > 0) {
        this.#lost -= 1
        reopened()
      }
      return carrier
    } finally {
      this.#inBetween -= 1
      this.#waiting.callOne()
    }
  }

  /** The connection broke by itself, unless it was dropped before. */
  #lose(carrier: Carrier, error: unknown): void {
    if (this.#drop(carrier, error) && isBroken(error)) this.#parts.idle.dropAll()
  }

  #drop(carrier: Carrier, why?: unknown): boolean {
    destroySocket(carrier.client)
    return this.#forget(carrier, why)
  }

  #forget(carrier: Carrier, why: unknown = new Error('Connection terminated')): boolean {
    if (!this.#carriers.delete(carrier)) return false
    this.#lost += 1
    carrier.gone.fail(why)
    this.#waiting.callOne()
    return true
  }

  /** The connection's place is free once Postgres has ended the connection. */
  async #end(carrier: Carrier, answering: Promise<unknown>): Promise<void> {
    if (!this.#forget(carrier)) return
    this.#inBetween += 1
    await endRunning(carrier.client, answering, this.#parts.budgets.watchdogMs)
    this.#inBetween -= 1
    this.#waiting.callOne()
  }
}

/** Batches that wait until a connection is free, in their order. */
class Waiting {
  readonly #waiting: PromiseWithResolvers<void>[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  callOne(): void {
    this.#waiting.shift()?.resolve()
  }

  /**
   * @param until by the clock of `performance.now()`.
   * @param isNext whether the batch was called before, and found no connection because another batch was faster.
   * @throws {Refusal} `unavailable` at `until`.
   */
  async wait(until: number, isNext: boolean): Promise<void> {
    const called = Promise.withResolvers<void>()
    if (isNext) this.#waiting.unshift(called)
    else this.#waiting.push(called)
    const leftMs = Math.max(0, until - performance.now())
    const timer = setTimeout(() => called.reject(new Refusal('unavailable')), leftMs)
    try {
      await called.promise
    } finally {
      clearTimeout(timer)
      const place = this.#waiting.indexOf(called)
      if (place >= 0) this.#waiting.splice(place, 1)
    }
  }
}

/** When the batch was sent that the connection answers now; infinity: the connection is free. */
const headOf = ({ sentAt }: Carrier): number => sentAt[0] ?? Number.POSITIVE_INFINITY

/**
 * A lane looks rows up by their keys, and Postgres plans its statement once. A plan made while a table is small would read the
 * whole table, and would stay while the table grows.
 */
const plansForIndexes = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off;
  set enable_hashjoin = off; set enable_mergejoin = off`

async function openClient({
  connection,
  name,
  isShared,
  settings = '',
  budgets: { laneStatementMs, laneLockMs },
}: LaneConnectionsParts): Promise<pg.Client> {
  // The driver's own pipeline takes no flights, and a conversation sends flights.
  const client = await connectPrimary(connection, name, isShared)
  await client.query(
    `set statement_timeout = ${laneStatementMs}; set lock_timeout = ${laneLockMs}; ${plansForIndexes}; ${settings}`,
  )
  return client
}
