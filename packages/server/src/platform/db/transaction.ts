import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Statement, sql } from './connection.ts'
import { Flight, type Leg } from './flight.ts'
import type { Hints } from './hints.ts'
import { toParameter } from './parameter.ts'

/**
 * One transaction in one workspace. Statements run in the order in which they are given, and travel
 * together as far as they can, so a mutation costs as many round trips as it has answers that it must read.
 */
export interface Tx {
  readonly workspaceId: string
  /** Sends a statement and reads its rows. Those of one turn of the event loop travel together. */
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>
  /** A statement whose answer nobody reads: it travels with the next. Should it fail, the commit fails with its error. */
  send(statement: Statement, values?: readonly unknown[]): void
  /** Keeps a statement back until everything else is sent; it travels with the commit. The audit head is locked so. */
  sendLast(statement: Statement, values?: readonly unknown[]): void
  /** Tells, once this is committed, whoever waits for the topic. */
  announce(topic: string): void
}

export type Work<T> = (tx: Tx) => Promise<T>

/** How long one statement may take, and how long of that it may wait for a lock. Milliseconds. */
export interface TimeLimits {
  statementMs: number
  lockMs: number
}

const begin = sql('db.begin', 'begin')
const commit = sql('db.commit', 'commit')
const rollback = sql('db.rollback', 'rollback')
const openScope = sql(
  'db.open_scope',
  `select set_config('role', 'keyrail_app', true), set_config('app.workspace_id', $1, true),
     set_config('statement_timeout', $2, true), set_config('lock_timeout', $3, true)`,
)

/**
 * Opens a transaction as the role that owns nothing, does the work, and commits. With the first statement
 * of the work travel BEGIN and the scope; with the last travels COMMIT.
 */
export async function transact<T>(
  client: pg.ClientBase,
  workspaceId: string,
  { statementMs, lockMs }: TimeLimits,
  work: Work<T>,
  hints: Pick<Hints, 'announce'>,
): Promise<T> {
  const waiting = [toLeg(begin), toLeg(openScope, [workspaceId, statementMs, lockMs])]
  const last: Leg[] = []
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
  const tx: Tx = {
    workspaceId,
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

const toLeg = (statement: Statement, values: readonly unknown[] = [], landed: Leg['landed'] = null): Leg => ({
  statement,
  values: values.map(toParameter),
  landed,
})
