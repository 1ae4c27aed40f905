import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Statement, sql } from './connection.ts'

/**
 * One transaction in one workspace. Statements travel in the order in which they are given, without
 * waiting for each other (the connection is pipelined), so a mutation costs as many round trips as it
 * has answers that it must read.
 */
export interface Tx {
  readonly workspaceId: string
  /** Sends a statement and reads its rows. */
  query<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>
  /** Sends a statement whose answer nobody reads. Should it fail, the commit fails with its error. */
  send(statement: Statement, values?: readonly unknown[]): void
  /** Keeps a statement back until everything else is sent; it travels with the commit. The audit head is locked so. */
  sendLast(statement: Statement, values?: readonly unknown[]): void
}

export type Work<T> = (tx: Tx) => Promise<T>

/** How long one statement may take, and how long of that it may wait for a lock. Milliseconds. */
export interface TimeLimits {
  statementMs: number
  lockMs: number
}

const openScope = sql(
  'db.open_scope',
  `select set_config('role', 'keyrail_app', true), set_config('app.workspace_id', $1, true),
     set_config('statement_timeout', $2, true), set_config('lock_timeout', $3, true)`,
)

/**
 * Opens a transaction as the role that owns nothing, does the work, and commits. In the same flush as the
 * first statement of the work travel BEGIN and the scope; with the last travels COMMIT.
 */
export async function transact<T>(
  client: pg.ClientBase,
  workspaceId: string,
  { statementMs, lockMs }: TimeLimits,
  work: Work<T>,
): Promise<T> {
  const sent: Promise<unknown>[] = []
  const last: [Statement, readonly unknown[]][] = []
  const send = (query: pg.QueryConfig | string) => {
    const answer = client.query(query)
    // Kept for the end; without a handler now, an early failure would count as unhandled.
    answer.catch(() => {})
    sent.push(answer)
    return answer
  }
  const prepared = (statement: Statement, values: readonly unknown[] = []) => ({
    name: statement.name,
    text: statement.text,
    values: [...values],
  })

  send('begin')
  send(prepared(openScope, [workspaceId, String(statementMs), String(lockMs)]))
  const tx: Tx = {
    workspaceId,
    query: async (statement, values) => (await send(prepared(statement, values))).rows,
    send: (statement, values) => void send(prepared(statement, values)),
    sendLast: (statement, values = []) => void last.push([statement, values]),
  }
  let result: T
  try {
    result = await work(tx)
  } catch (error) {
    // The rollback rides behind what was sent. A statement that failed earlier is the real reason.
    send('rollback')
    const first = (await Promise.allSettled(sent)).find(answer => answer.status === 'rejected')
    throw error instanceof Refusal || first === undefined ? error : first.reason
  }
  for (const [statement, values] of last) send(prepared(statement, values))
  const committed = send('commit')
  const failed = (await Promise.allSettled(sent)).find(answer => answer.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  // Postgres answers COMMIT of a failed transaction with the tag ROLLBACK, not with an error.
  if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back at commit')
  return result
}
