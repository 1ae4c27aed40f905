/**
 * How long the service waits for its stores, in milliseconds. `openDeps` takes a set of these budgets. They are no settings:
 * the service promises an answer within two seconds, whatever its stores do.
 */
export interface Budgets {
  /** For a whole request, however many questions it has for the store; after this time it is answered 503. */
  readonly requestMs: number
  /** To open a connection, and as long again until the server has reported its state. */
  readonly connectMs: number
  /** For one statement of a lane; Postgres then cancels it. Just above a request's budget, after which the connection is cut. */
  readonly laneStatementMs: number
  /** For one lock that a statement of a lane waits for. */
  readonly laneLockMs: number
  /** For the watchdog's query beside a long transaction: after this time the store counts as silent. */
  readonly watchdogMs: number
  /**
   * For the record of a node that polls. The poll goes on without the record, so that a slow disk keeps no policy from a node.
   */
  readonly nodeNoteMs: number
  /** How long a count of requests waits in memory before it is written. A process that is killed loses the counts of so long. */
  readonly countsMs: number
  /**
   * How long a closing process has, after its last request, to write its remaining data and to end its connections. Longer than
   * mail being sent needs to end, and short enough that a process with a store that hangs ends within ten seconds.
   */
  readonly closeMs: number
}

export const serviceBudgets: Budgets = {
  requestMs: 1_900,
  connectMs: 1_500,
  laneStatementMs: 2_000,
  laneLockMs: 1_000,
  watchdogMs: 800,
  nodeNoteMs: 500,
  countsMs: 5_000,
  closeMs: 7_000,
}
