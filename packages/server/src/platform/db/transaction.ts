import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Statement, sql } from './connection.ts'
import { Flight, type Leg, toLeg } from './flight.ts'
import type { Hints } from './hints.ts'
import { firstLegs, lastLegs, type Scope, type Standing, type TimeLimits } from './opening.ts'

/**
 * One transaction. Statements run in the order in which they are given, and travel
 * together as far as they can, so a mutation costs as many round trips as it has answers that it must read.
 */
export interface Transaction {
  /** Sends a statement and reads its rows. Those of one turn of the event loop travel together. */
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>
  /** A statement whose answer nobody reads: it travels with the next. Should it fail, the commit fails with its error. */
  send(statement: Statement, values?: readonly unknown[]): void
  /** Keeps a statement back until everything else is sent; it travels with the commit. The audit head is locked so. */
  sendLast(statement: Statement, values?: readonly unknown[]): void
  /** Tells, once this is committed, whoever waits for the topic. */
  announce(topic: string): void
}

/** A transaction in one workspace. */
export interface Tx extends Transaction {
  readonly workspaceId: string
}

/** A transaction of one person, who need not be in any workspace. */
export interface PersonTx extends Transaction {
  readonly userId: string
}

export type Work<T, In extends Transaction = Tx> = (tx: In) => Promise<T>

const commit = sql('db.commit', 'commit')
const rollback = sql('db.rollback', 'rollback')

/**
 * Opens a transaction as the role that owns nothing, does the work, and commits. With the first statement
 * of the work travel BEGIN, the scope and what holds the caller's right; with the last travels COMMIT.
 */
export async function transact<T>(
  client: pg.ClientBase,
  scope: Scope,
  standing: Standing,
  limits: TimeLimits,
  work: Work<T, Transaction & Scope>,
  hints: Pick<Hints, 'announce'>,
): Promise<T> {
  const waiting = firstLegs(scope, standing, limits)
  const last = lastLegs(standing)
  const failures: unknown[] = []
  const topics = new Set<string>()
  let begun = false
  let departing: Promise<string> | null = null

  const fly = (legs: readonly Leg[]): Promise<string> => {
    begun = true
    const { landed } = client.query(new Flight(legs))
    landed.catch(error => failures.push(error))
    return landed
  }
  /** At the end of this turn of the event loop, with all that was given until then. */
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
        waiting.push(toLeg(statement, values, resolve as Leg['landed']))
        depart().catch(reject)
      }),
    send: (statement, values) => void waiting.push(toLeg(statement, values)),
    sendLast: (statement, values) => void last.push(toLeg(statement, values)),
    announce: topic => void topics.add(topic),
  }
  try {
    const result = await work(tx)
    const tag = await fly([...waiting.splice(0), ...last, toLeg(commit)])
    // Postgres answers COMMIT of a failed transaction with the tag ROLLBACK, not with an error.
    if (tag !== 'COMMIT') throw new Error('the transaction was rolled back at commit')
    for (const topic of topics) hints.announce(topic)
    return result
  } catch (error) {
    const [first = error] = failures
    if (begun) await fly([toLeg(rollback)]).catch(() => {})
    throw error instanceof Refusal ? error : first
  }
}
