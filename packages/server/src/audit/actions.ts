import type { AuditAction } from '@keyrail/contract/vendor/audit'

/**
 * Where an audit payload names a person's address. The hashed payload has SHA-256(salt ‖ address) at the
 * same place, `_hash` behind the name; the address itself is an erasable side row. A verifier needs this
 * table too, so it stands in `docs/audit-verification.md`.
 */
export const addressPaths: Partial<Record<AuditAction, readonly string[]>> = {
  'workspace.created': ['billing_email'],
  'workspace.updated': ['billing_email.old', 'billing_email.new'],
  'workspace_member.joined': ['email', 'invited_email'],
  'workspace_member.role_changed': ['email'],
  'workspace_member.removed': ['email'],
  'workspace_invite.created': ['email'],
  'workspace_invite.revoked': ['email'],
}
