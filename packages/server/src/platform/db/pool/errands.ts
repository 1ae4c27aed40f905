import type pg from 'pg'
import { Ending } from '../../concurrency/ending.ts'
import { FairQueue, type Turn } from '../../concurrency/fair-queue.ts'
import { tooManyInFlight } from '../../refusal.ts'
import type { Connection } from '../connection.ts'
import { connectPrimary } from '../failover/timeline.ts'

/** How many errands of a process run at once, each on a connection that is opened for it. */
export const errandsMost = 2

/** How long an errand waits for a lock. */
const lockMs = 1_000
/** How many errands of one name may wait. */
const waitingMost = 500

/**
 * Work beside the requests that holds a connection for longer than a request does: verifications of chains, and counts of rows.
 * Errands have few connections, for which names take turns, so that a process opens no more than the operator has counted.
 */
export class Errands {
  readonly #connection: Connection
  readonly #line = new FairQueue({ places: errandsMost, placesOfOne: 1, waitingOfOne: waitingMost })
  readonly #closing = new Ending()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** @returns null if too many errands of this name wait. */
  take(name: string): Turn | null {
    return this.#line.take(name)
  }

  get waiting(): number {
    return this.#line.depth().waiting
  }

  /** @throws {Refusal} `too_many_in_flight` if too many errands of this name wait. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#line.take(name)
    if (turn === null) throw tooManyInFlight()
    try {
      // The end only ends the wait.
      if (turn.come !== null) await this.#closing.during(turn.come).catch(() => {})
      return await work()
    } finally {
      turn.end()
    }
  }

  /**
   * Opens a connection for an errand, and ends the connection afterwards.
   * @param name of the errand, and of its connection.
   * @param statementMs how long a statement may take.
   */
  ask<T>(name: string, statementMs: number, work: (client: pg.Client) => Promise<T>): Promise<T> {
    return this.run(name, async () => {
      const client = await connectPrimary(this.#connection, name, false)
      try {
        await client.query(`set statement_timeout = ${statementMs}; set lock_timeout = ${lockMs}`)
        return await work(client)
      } finally {
        await client.end()
      }
    })
  }

  /** Lets all waiting errands run at once, because they have to write before the process ends. */
  close(): void {
    this.#closing.fail(null)
  }
}
