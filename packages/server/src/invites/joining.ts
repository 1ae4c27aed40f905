import type { Tx } from '../platform/db/transaction.ts'
import { acceptInviteRow, type FoundInvite, lockInviteByToken, readWorkspace } from './sql.ts'

/** What joining takes of an invitation. */

/** The pending invitation of either token; null when there is none, or somebody else has just accepted it. */
export const lockPendingInvite = (tx: Tx, digest: Buffer): Promise<FoundInvite | null> =>
  lockInviteByToken(tx, digest)

/** Uses it up, both of its tokens. @returns the workspace that it is of. */
export function acceptPendingInvite(tx: Tx, id: string): Promise<{ id: string; name: string; slug: string }> {
  acceptInviteRow(tx, id)
  return readWorkspace(tx)
}
