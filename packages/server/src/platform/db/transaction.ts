import type pg from 'pg'
import { type HoldRows, type ListBounds, toListLeg, totalOf } from '../paging/list-leg.ts'
import type { Listed } from '../paging/listed.ts'
import { Refusal } from '../refusal.ts'
import type { Statement } from './connection.ts'
import { atCommit, beforeCommit } from './errors.ts'
import { confirmAnswer } from './failover/confirm.ts'
import type { Hints } from './listen/hints.ts'
import type { Lease } from './pool/attempt.ts'
import { Flight, type Leg, toLeg } from './pool/flight.ts'
import { firstLegs, lastLegs, type Scope, type Standing, type TimeLimits } from './pool/opening.ts'
import { commit, rollback } from './pool/transaction-control.ts'
import type { Sender } from './sender.ts'

/** What every transaction can do: statements run in the order in which they are given. */
interface Reading {
  /** Sends a statement and reads its rows. Statements of one turn of the event loop travel together. */
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>
  /**
   * Sends the statement of a list and reads its rows, up to a number of bytes. Every list of the API reads its rows with this.
   * @throws {NoCapacity} when there is no memory for them.
   */
  list<Row extends object>(
    statement: Statement,
    values: readonly unknown[],
    bounds: ListBounds,
  ): Promise<Listed<Row>>
  /**
   * Sends a statement whose answer is not read, together with the next statement. If it fails, the commit fails with its error.
   */
  send(statement: Statement, values?: readonly unknown[]): void
}

/**
 * One transaction. Its statements travel together where possible, so a mutation costs as many round trips as it has answers
 * that it must read.
 */
export interface Transaction extends Reading {
  /**
   * Holds a statement back until all other statements are sent, so that it travels with the commit. The audit head is locked
   * this way.
   */
  sendLast(statement: Statement, values?: readonly unknown[]): void
  /** Notifies the listeners of the topic once the transaction is committed. */
  announce(topic: string): void
}

/** A transaction in one workspace, for statements that only read. It may be a single flight. */
export interface ReadTx extends Reading {
  readonly workspaceId: string
}

/** A transaction in one workspace. */
export interface Tx extends Transaction, ReadTx {
  /** Who sent the request; undefined for work of the service itself. */
  readonly sender?: Sender
}

/** A transaction of one person, who need not be in any workspace. */
export interface PersonTx extends Transaction {
  readonly userId: string
}

/**
 * The same transaction for the rows of a person, if it was opened to see these rows beside those of its workspace.
 * @throws if the transaction was opened without the person: it would find none of the person's rows.
 */
export function asPersonTx(tx: Tx & Partial<PersonTx>, userId: string): Tx & PersonTx {
  if (tx.userId !== userId) throw new Error('the transaction does not see the rows of this person')
  return tx as Tx & PersonTx
}

export type Work<T, In extends Reading = Tx> = (tx: In) => Promise<T>

/**
 * Opens a transaction as the role that owns nothing, does the work, and commits. BEGIN, the scope and the lock
 * on the caller's right travel with the first statement; COMMIT travels with the last.
 */
export async function transact<T>(
  client: pg.ClientBase,
  scope: Scope,
  standing: Standing,
  limits: TimeLimits,
  lease: Lease,
  work: Work<T, Transaction & Scope>,
  { announce, holdRows }: Pick<Hints, 'announce'> & { holdRows: HoldRows | null },
): Promise<T> {
  const waiting = firstLegs(scope, standing, limits)
  const last = lastLegs(standing)
  const failures: unknown[] = []
  const topics = new Set<string>()
  // The statement that is sent last is an audit row, so the transaction has written.
  let hasWritten = false
  let begun = false
  let isCommitting = false
  let departing: Promise<string> | null = null
  const hold = totalOf(holdRows)

  const fly = (legs: readonly Leg[]): Promise<string> => {
    if (lease.isOver) return Promise.reject(new Refusal('unavailable'))
    begun = true
    const { landed } = client.query(new Flight(legs))
    landed.catch(error => failures.push(error))
    return landed
  }
  /** Runs at the end of this turn of the event loop, and sends all statements given until then. */
  const depart = () => {
    departing ??= Promise.resolve().then(() => {
      departing = null
      return fly(waiting.splice(0))
    })
    return departing
  }
  const tx: Transaction & Scope = {
    ...scope,
    query: (statement, values) =>
      new Promise((resolve, reject) => {
        waiting.push(toLeg(statement, values, resolve as Leg['onRows']))
        depart().catch(reject)
      }),
    list: (statement, values, bounds) =>
      new Promise((resolve, reject) => {
        waiting.push(toListLeg(statement, values, bounds, hold, { resolve, reject }))
        depart().catch(reject)
      }),
    send: (statement, values) => void waiting.push(toLeg(statement, values)),
    sendLast(statement, values) {
      hasWritten = true
      last.push(toLeg(statement, values))
    },
    announce: topic => void topics.add(topic),
  }
  try {
    const result = await work(tx)
    isCommitting = true
    if (standing.isConfirmed && !hasWritten) waiting.push(toLeg(confirmAnswer))
    const tag = await fly([...waiting.splice(0), ...last, toLeg(commit)])
    // Postgres answers COMMIT of a failed transaction with the tag ROLLBACK, not with an error.
    if (tag !== 'COMMIT') throw new Error('the transaction was rolled back at commit')
    for (const topic of topics) announce(topic)
    return result
  } catch (error) {
    const [failure] = failures
    if (begun) await fly([toLeg(rollback)]).catch(() => {})
    if (error instanceof Refusal || failure === undefined) throw error
    throw isCommitting ? atCommit(failure) : beforeCommit(failure)
  }
}
