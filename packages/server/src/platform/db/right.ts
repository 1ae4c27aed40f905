import { type Statement, sql } from './connection.ts'

/**
 * What a caller's right to a mutation rests on. A transaction that is bound to it takes shared locks of it in its first
 * flight and holds them until it ends, so that nothing is written on a right that has ended before.
 */
export interface Right {
  readonly holder: Holder
  readonly values: readonly unknown[]
}

/** A function of the database that takes the locks, and raises `KR401` when the right is gone. */
export interface Holder {
  readonly function: string
  readonly parameters: number
}

/** The right of the caller ended between the gate and the transaction. Nothing was written. */
export class RightGone extends Error {}

const end = sql('db.end_rights', 'select end_rights($1, $2)')

/**
 * Waits for all transactions that hold one of these rights, and keeps later ones waiting until this one has ended. Call it
 * in a transaction that `changesRights`, before the rows change that the rights rest on and before any lock that a
 * holder may wait for.
 * @param ids of secret keys, members and tenants of the workspace, or the workspace's own.
 */
export const endRights = (
  tx: { workspaceId: string; send(statement: Statement, values: readonly unknown[]): void },
  ids: readonly string[],
): void => tx.send(end, [tx.workspaceId, ids])

/**
 * Those who end rights in one workspace, or of one person, go one after the other: each holds its own right and waits for
 * those of others, which would be a circle where two end each other's.
 */
export const takeTurn = sql(
  'db.take_turn',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.rights_turn ' || $1::text, 0))`,
)

/** A workspace is not deleted around a work that is to judge its own right at its end: they would wait in a circle. */
export const holdWorkspace = sql(
  'db.hold_workspace',
  'select pg_advisory_xact_lock_shared(right_lock($1, $1))',
)
