import type { Role } from '@keyrail/contract/shared'
import type { Member } from '@keyrail/contract/vendor/members'
import type { Entry } from '../audit/append.ts'
import type { PersonTx, Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { toMember } from './resource.ts'
import { countOwnedRows, hasMemberRows, insertMember, removeRow } from './sql.ts'

/** The person who joins, the role, and the invited address, if there was one. */
export interface Joining {
  id: string
  email: string
  name: string | null
  role: Role
  invitedEmail?: string
  /** The secret key that the person has shown. */
  shownKeyId?: string
}

/** Ends a membership, after `endMakers`. The caller appends the audit entry. */
export const leaveWorkspace = (tx: Tx, userId: string, at: number): void =>
  removeRow(tx, userId, new Date(at))

/** Whether the workspace of the transaction has any member. */
export const hasMembers = (tx: Tx): Promise<boolean> => hasMemberRows(tx)

/** The number of workspaces that the person of the transaction owns. */
export const countOwned = (tx: PersonTx): Promise<number> => countOwnedRows(tx)

/**
 * Makes a person a member of the transaction's workspace. The caller appends the audit entry.
 * @throws {Refusal} `already_member`.
 */
export async function joinWorkspace(
  tx: Tx,
  at: number,
  { id, email, name, role, invitedEmail, shownKeyId }: Joining,
): Promise<{ member: Member; joined: Entry }> {
  const joinedAt = new Date(at)
  if (!(await insertMember(tx, id, role, joinedAt))) throw new Refusal('already_member')
  const payload = {
    role,
    email,
    ...(invitedEmail !== undefined && { invited_email: invitedEmail }),
    ...(shownKeyId !== undefined && { secret_key_id: shownKeyId }),
  }
  return {
    member: toMember({ user_id: id, email, name, role, joined_at: joinedAt }),
    joined: {
      action: 'workspace_member.joined',
      targetType: 'workspace_member',
      targetId: id,
      env: null,
      payload,
    },
  }
}
