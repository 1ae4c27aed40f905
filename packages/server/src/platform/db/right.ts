import { type Statement, sql } from './connection.ts'

/**
 * What a caller's right to a mutation rests on. A transaction bound to it takes shared locks in its first flight
 * and holds them until it ends, so that nothing is written on a right that has ended before.
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
 * Waits for all transactions that hold one of these rights, and makes later ones wait until this one has ended.
 * Call it in a transaction that `changesRights`, before changing the rows that the rights rest on and before any
 * lock that a holder may wait for.
 * @param ids the ids of secret keys, members and tenants of the workspace, or its own.
 */
export const endRights = (
  tx: { workspaceId: string; send(statement: Statement, values: readonly unknown[]): void },
  ids: readonly string[],
): void => tx.send(end, [tx.workspaceId, ids])

/**
 * Transactions that end rights in one workspace, or of one person, run one after the other. Each holds its own
 * right and waits for those of others, so two that end each other's would deadlock.
 */
export const takeTurn = sql(
  'db.take_turn',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.rights_turn ' || $1::text, 0))`,
)

/**
 * Acceptances of invitations hold it shared, and the end of a maker alone: an acceptance commits before that end, or sees
 * it. The end takes it behind `endRights` and before any row.
 */
export const stopAcceptances = sql(
  'db.stop_acceptances',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.acceptances ' || $1::text, 0))`,
)
export const admitAcceptance = sql(
  'db.admit_acceptance',
  `select pg_advisory_xact_lock_shared(hashtextextended('keyrail.acceptances ' || $1::text, 0))`,
)

/** Prevents the deletion of a workspace around work that checks its right at its end: they would deadlock. */
export const holdWorkspace = sql(
  'db.hold_workspace',
  'select pg_advisory_xact_lock_shared(right_lock($1, $1))',
)
