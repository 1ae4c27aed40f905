import { admitAcceptance } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { acceptInviteRow, type FoundInvite, lockInviteByToken, readWorkspace } from './sql.ts'

/** The part of invitations that joining a workspace needs. */

/** Finds a pending invitation by either token; null when there is none or it has just been accepted. */
export function lockPendingInvite(tx: Tx, digest: Buffer): Promise<FoundInvite | null> {
  tx.send(admitAcceptance, [tx.workspaceId])
  return lockInviteByToken(tx, digest)
}

/** Accepts the invitation, which ends both of its tokens. @returns its workspace. */
export function acceptPendingInvite(tx: Tx, id: string): Promise<{ id: string; name: string; slug: string }> {
  acceptInviteRow(tx, id)
  return readWorkspace(tx)
}
