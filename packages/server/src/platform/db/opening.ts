import { type Statement, sql } from './connection.ts'
import { type Leg, toLeg } from './flight.ts'
import { type Holder, holdWorkspace, type Right, takeTurn } from './right.ts'

/** Whose rows a transaction sees: those of a workspace, those of a person, or both. */
export interface Scope {
  readonly workspaceId: string | null
  readonly userId: string | null
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

/** How long one statement may take, and how long of that it may wait for a lock. Milliseconds. */
export interface TimeLimits {
  statementMs: number
  lockMs: number
}

const begin = sql('db.begin', 'begin')
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

/** What a transaction begins with: the role that owns nothing, the scope, and the right to what follows. */
export function firstLegs(
  scope: Scope,
  { right, changesRights, isLong }: Standing,
  { statementMs, lockMs }: TimeLimits,
): Leg[] {
  const opened = [scope.workspaceId ?? '', scope.userId ?? '', statementMs, lockMs, idleMs]
  // One statement instead of two, which is a tenth of the server’s part of a small mutation.
  if (right !== null && !changesRights && !isLong)
    return [toLeg(begin), toLeg(holding(right.holder).withScope, [...opened, ...right.values])]
  return [
    toLeg(begin),
    toLeg(openScope, opened),
    ...(changesRights ? [toLeg(takeTurn, [scope.workspaceId ?? scope.userId])] : []),
    ...(isLong ? [toLeg(holdWorkspace, [scope.workspaceId])] : heldBy(right)),
  ]
}

/** What goes before the last statements of a transaction. */
export const lastLegs = ({ right, isLong }: Standing): Leg[] => (isLong ? heldBy(right) : [])

const heldBy = (right: Right | null): Leg[] =>
  right === null ? [] : [toLeg(holding(right.holder).alone, right.values)]

interface Holding {
  /** Takes the values of the right. */
  readonly alone: Statement
  /** Takes those of the scope before. A select list is evaluated from left to right. */
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
