import { type Statement, sql } from './connection.ts'

/**
 * The basis of a caller's right to a mutation. A transaction bound to the right takes shared locks in its first flight and
 * holds them until it ends, so that nothing is written on a right that has already ended.
 */
export interface Right {
  readonly holder: Holder
  readonly values: readonly unknown[]
}

/** A function of the database that takes the locks, and raises `KR401` if the right is gone. */
export interface Holder {
  readonly function: string
  readonly parameters: number
}

/** The caller's right ended between the gate and the transaction. Nothing was written. */
export class RightGone extends Error {}

const end = sql('db.end_rights', 'select end_rights($1, $2)')

/**
 * Waits for all transactions that hold one of these rights, and makes later ones wait until this transaction has ended. Call it
 * in a transaction that `changesRights`, before changing the rows of the rights and before any lock that a holder may wait for.
 * @param ids the ids of secret keys, members and tenants of the workspace, or the id of the workspace.
 */
export const endRights = (
  tx: { workspaceId: string; send(statement: Statement, values: readonly unknown[]): void },
  ids: readonly string[],
): void => tx.send(end, [tx.workspaceId, ids])

/**
 * Transactions that end rights in one workspace, or of one person, run one after the other. Each holds its own right and waits
 * for the holders of the rights that it ends, so two that end each other's right would deadlock.
 */
export const takeTurn = sql(
  'db.take_turn',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.rights_turn ' || $1::text, 0))`,
)

/**
 * A lock that acceptances of invitations hold shared, and a transaction that ends a maker alone: an acceptance commits before
 * the maker's end, or sees it. The transaction that ends the maker takes the lock behind `endRights` and before any row.
 */
export const stopAcceptances = sql(
  'db.stop_acceptances',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.acceptances ' || $1::text, 0))`,
)
export const admitAcceptance = sql(
  'db.admit_acceptance',
  `select pg_advisory_xact_lock_shared(hashtextextended('keyrail.acceptances ' || $1::text, 0))`,
)

/** Keeps a workspace from being deleted during work that checks its right at the end: the two transactions would deadlock. */
export const holdWorkspace = sql(
  'db.hold_workspace',
  'select pg_advisory_xact_lock_shared(right_lock($1, $1))',
)
