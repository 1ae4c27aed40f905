import type { Role } from '@keyrail/contract/shared'
import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { Tx } from '../platform/db/transaction.ts'

/** Where a person stands in the workspace of a transaction that sees that person. */
export interface StandingRow {
  role: Role
  email: string
  is_member: boolean
  unproven: boolean
}
const lock = sql(
  'workspace.lock_standing',
  `select m.role, u.email, m.removed_at is null as is_member, m.proven_count < u.disowned_count as unproven
   from workspace_members m join users u on u.id = m.user_id
   where m.workspace_id = $1 and m.user_id = $2 for update of m`,
)
export async function lockStanding(tx: Tx, userId: string): Promise<StandingRow | null> {
  const [row] = await tx.query<StandingRow>(lock, [tx.workspaceId, userId])
  return row ?? null
}

const keep = sql(
  'workspace.keep',
  changesOne(`update workspace_members m set proven_count = u.disowned_count from users u
   where m.workspace_id = $1 and m.user_id = $2 and u.id = m.user_id`),
)
export const keepRow = (tx: Tx, userId: string): void => tx.send(keep, [tx.workspaceId, userId])
