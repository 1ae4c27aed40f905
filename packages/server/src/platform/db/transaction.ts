import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Statement, sql } from './connection.ts'
import { Flight, type Leg } from './flight.ts'
import type { Hints } from './hints.ts'
import { toParameter } from './parameter.ts'
import { holdWorkspace, type Right, takeTurn } from './right.ts'

/** Whose rows a transaction sees: those of a workspace, those of a person, or both. */
export interface Scope {
  readonly workspaceId: string | null
  readonly userId: string | null
}

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

/** On what right a transaction acts, and whether it ends the rights of others. */
export interface Standing {
  /** Null for what acts on nobody's behalf. */
  readonly right: Right | null
  readonly changesRights: boolean
  /**
   * Of a work that may take a minute: it holds the right from its last flight on. Until then who made it can be stopped,
   * and then it comes to nothing.
   */
  readonly isLong: boolean
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
     set_config('app.user_id', $2, true), set_config('statement_timeout', $3, true),
     set_config('lock_timeout', $4, true), set_config('idle_in_transaction_session_timeout', $5, true)`,
)
/**
 * How long a transaction may wait for its process between two flights, in ms. Of a machine that has vanished, Postgres learns
 * after hours; until then nobody could revoke the credential whose right the transaction holds.
 */
const idleMs = 10_000

/**
 * Opens a transaction as the role that owns nothing, does the work, and commits. With the first statement
 * of the work travel BEGIN, the scope and what holds the caller's right; with the last travels COMMIT.
 */
export async function transact<T>(
  client: pg.ClientBase,
  scope: Scope,
  { right, changesRights, isLong }: Standing,
  { statementMs, lockMs }: TimeLimits,
  work: Work<T, Transaction & Scope>,
  hints: Pick<Hints, 'announce'>,
): Promise<T> {
  const held = right === null ? [] : [toLeg(right.statement, right.values)]
  const waiting = [
    toLeg(begin),
    toLeg(openScope, [scope.workspaceId ?? '', scope.userId ?? '', statementMs, lockMs, idleMs]),
    ...(changesRights ? [toLeg(takeTurn, [scope.workspaceId ?? scope.userId])] : []),
    ...(isLong ? [toLeg(holdWorkspace, [scope.workspaceId])] : held),
  ]
  const last = isLong ? [...held] : []
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

const toLeg = (statement: Statement, values: readonly unknown[] = [], landed: Leg['landed'] = null): Leg => ({
  statement,
  values: values.map(toParameter),
  landed,
})
