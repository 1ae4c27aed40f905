import type { Invite } from '@keyrail/contract/vendor/invites'
import type { Entry } from '../audit/append.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { toInvite } from './resource.ts'
import { retireInvitesOf } from './sql.ts'

/** Why an invitation was revoked by itself; null where somebody has asked for it. */
export type RevocationReason = 'superseded' | 'inviter_removed' | null

export const targetOf = (id: string) => ({ targetType: 'workspace_invite' as const, targetId: id, env: null })

export const inviteRevoked = (invite: Invite, reason: RevocationReason): Entry => ({
  ...targetOf(invite.id),
  action: 'workspace_invite.revoked',
  payload: { email: invite.email, role: invite.role, reason },
})

/**
 * Revokes what a person has invited and nobody has accepted: who is no owner any more must not come back by a token
 * that they have kept. The caller appends the entries.
 */
export const revokeInvitesOf = async (tx: Tx, userId: string): Promise<Entry[]> =>
  (await retireInvitesOf(tx, userId)).map(row => inviteRevoked(toInvite(row), 'inviter_removed'))
