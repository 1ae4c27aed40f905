import type { AuditAction } from '@keyrail/contract/vendor/audit'

/**
 * The paths of a person's address in audit payloads. The hashed payload has SHA-256(salt ‖ address) there, under the name
 * with `_hash`; the address itself is in a side row that can be erased. Verifiers need this table, so
 * `docs/audit-verification.md` has it too.
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
