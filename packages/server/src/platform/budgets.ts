/**
 * How long the service waits for its stores, in milliseconds. `openDeps` takes one of these. It is not a setting: the service
 * promises an answer within two seconds, whatever its stores do.
 */
export interface Budgets {
  /** A request is answered within this, or with 503, however many questions it has for the store. */
  readonly requestMs: number
  /** To open a connection, and as long again until its server has said where we are. */
  readonly connectMs: number
  /** For one statement of a lane; Postgres cancels it then. Just above a request's budget, which cuts the connection. */
  readonly laneStatementMs: number
  /** For one lock that a statement of a lane waits for. */
  readonly laneLockMs: number
  /** For a statement on another connection, while a long transaction waits: beyond it the store has fallen silent. */
  readonly watchdogMs: number
  /** For the note of a node that polls. The poll goes on without it, so that a slow disk costs no node its policy. */
  readonly nodeNoteMs: number
  /**
   * A closing process has this long, behind its last request, to write what is left and to end its connections. Longer than
   * mail being sent has to end, and short enough that a process with a store that hangs ends within ten seconds.
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
  closeMs: 7_000,
}
