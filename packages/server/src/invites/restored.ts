/**
 * Statements that a restore runs: invitations that were revoked or accepted after the backup would be pending again, and
 * no row says which.
 */
export const invitesEndedByRestore: readonly string[] = [
  'update workspace_invites set revoked_at = service_now() where accepted_at is null and revoked_at is null',
]
