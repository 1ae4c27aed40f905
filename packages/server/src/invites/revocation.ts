import type { Invite } from '@keyrail/contract/vendor/invites'
import type { Entry } from '../audit/append.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { toInvite } from './resource.ts'
import { retireInvitesBelow } from './sql.ts'

/** The maker whose end revokes the invitations that descend from it. */
export interface Ancestor {
  type: 'user' | 'secret_key' | 'session'
  id: string
}

export const targetOf = (id: string) => ({ targetType: 'workspace_invite' as const, targetId: id, env: null })

/** @param reason why it was revoked automatically; null when a caller asked for it. */
export const inviteRevoked = (
  { id, email, role }: Invite,
  reason: 'superseded' | 'inviter_removed' | 'inviter_revoked' | null,
  ancestor?: Ancestor,
): Entry => ({
  ...targetOf(id),
  action: 'workspace_invite.revoked',
  payload: { email, role, reason, ...(ancestor !== undefined && { ancestor: { ...ancestor } }) },
})

/**
 * Revokes pending invitations made by the ancestor or by secret keys below it: a maker without rights must not return by
 * a token that it kept. The caller appends the entries.
 * @param most how many at once.
 */
export async function revokeInvitesBelow(tx: Tx, ancestor: Ancestor, most: number): Promise<Entry[]> {
  const reason = ancestor.type === 'user' ? 'inviter_removed' : 'inviter_revoked'
  const rows = await retireInvitesBelow(tx, ancestor, most)
  rows.sort((a, b) => (a.id < b.id ? -1 : 1))
  return rows.map(row => inviteRevoked(toInvite(row), reason, ancestor))
}
