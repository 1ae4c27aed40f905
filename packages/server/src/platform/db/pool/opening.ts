import { type Statement, sql } from '../connection.ts'
import { type Holder, holdWorkspace, type Right, takeTurn } from '../right.ts'
import { type Leg, toLeg } from './flight.ts'
import { begin } from './transaction-control.ts'

/** The rows that a transaction sees: those of a workspace, those of a person, or both. */
export interface Scope {
  readonly workspaceId: string | null
  readonly userId: string | null
}

/** The right that a transaction acts on, and whether it ends the rights of others. */
export interface Standing {
  /** Null for work without a caller. */
  readonly right: Right | null
  readonly changesRights: boolean
  /** Work that may take a minute takes its right only with its last flight. The right can end before, and then the work fails. */
  readonly isLong: boolean
  /** Whether the transaction waits at its commit for the synchronous standby, also when it has written nothing. */
  readonly isConfirmed: boolean
}

/** How long one statement may take, and how long of this time it may wait for a lock. Milliseconds. */
export interface TimeLimits {
  statementMs: number
  lockMs: number
}

const openScope = sql(
  'db.open_scope',
  `select set_config('role', 'keyrail_app', true), set_config('app.workspace_id', $1, true),
     set_config('app.user_id', $2, true), set_config('statement_timeout', $3, true),
     set_config('lock_timeout', $4, true), set_config('idle_in_transaction_session_timeout', $5, true)`,
)
/**
 * How long a transaction may wait for its process between two flights, in ms. Postgres takes hours to notice that a machine has
 * vanished, and until then nobody could revoke the credential whose right the transaction holds.
 */
const idleMs = 10_000

/** All these settings end with the flight. */
const openReading = sql(
  'db.open_reading',
  `select set_config('role', 'keyrail_app', true), set_config('app.workspace_id', $1, true),
     set_config('app.user_id', '', true), set_config('statement_timeout', $2, true),
     set_config('lock_timeout', $3, true), set_config('transaction_read_only', 'on', true)`,
)
/** The first statement of a flight that only reads: sets the role that owns nothing, the ban on writes, and the workspace. */
export const readingLeg = (workspaceId: string, { statementMs, lockMs }: TimeLimits): Leg =>
  toLeg(openReading, [workspaceId, statementMs, lockMs])

/** The first statements of a transaction: the role that owns nothing, the scope, and the caller's right. */
export function firstLegs(
  scope: Scope,
  { right, changesRights, isLong }: Standing,
  { statementMs, lockMs }: TimeLimits,
): Leg[] {
  const opened = [scope.workspaceId ?? '', scope.userId ?? '', statementMs, lockMs, idleMs]
  // One statement instead of two, which saves a tenth of the server's work for a small mutation.
  if (right !== null && !changesRights && !isLong)
    return [toLeg(begin), toLeg(holding(right.holder).withScope, [...opened, ...right.values])]
  return [
    toLeg(begin),
    toLeg(openScope, opened),
    ...(changesRights ? [toLeg(takeTurn, [scope.workspaceId ?? scope.userId])] : []),
    ...(isLong ? [toLeg(holdWorkspace, [scope.workspaceId])] : heldBy(right)),
  ]
}

/** Statements that come just before the commit. */
export const lastLegs = ({ right, isLong }: Standing): Leg[] => (isLong ? heldBy(right) : [])

const heldBy = (right: Right | null): Leg[] =>
  right === null ? [] : [toLeg(holding(right.holder).alone, right.values)]

interface Holding {
  /** Takes the values of the right only. */
  readonly alone: Statement
  /** Takes the values of the scope first, then those of the right. A select list is evaluated from left to right. */
  readonly withScope: Statement
}
const known = new Map<Holder, Holding>()

function holding(holder: Holder): Holding {
  const before = known.get(holder)
  if (before !== undefined) return before
  const call = (from: number) =>
    `${holder.function}(${Array.from({ length: holder.parameters }, (_, i) => `$${from + i}`).join(', ')})`
  const made = {
    alone: sql(`db.${holder.function}`, `select ${call(1)}`),
    withScope: sql(`db.open_scope.${holder.function}`, `${openScope.text}, ${call(6)}`),
  }
  known.set(holder, made)
  return made
}
