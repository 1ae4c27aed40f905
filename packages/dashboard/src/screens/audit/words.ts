import type { AuditAction, AuditLog } from '@keyrail/contract/vendor/audit'

/** Every action as a person says it. */
export const actionWords: Record<AuditAction, string> = {
  'workspace.created': 'Workspace created',
  'workspace.updated': 'Workspace changed',
  'project.created': 'Project created',
  'project.updated': 'Project changed',
  'project.deleted': 'Project deleted',
  'tenant.created': 'Tenant created',
  'tenant.updated': 'Tenant changed',
  'tenant.deleted': 'Tenant deleted',
  'tenant.embed_tokens_revoked': 'Embed sessions ended',
  'tenant.suspended': 'Tenant suspended',
  'tenant.resumed': 'Tenant resumed',
  'api_key.created': 'Key created',
  'api_key.imported': 'Key imported',
  'api_key.updated': 'Key changed',
  'api_key.rotated': 'Key rotated',
  'api_key.revoked': 'Key revoked',
  'api_key.disabled': 'Key paused',
  'api_key.enabled': 'Key resumed',
  'api_key.ended_deleted': 'Ended keys deleted',
  'api_key.exported': 'Keys exported',
  'secret_key.created': 'Secret key created',
  'secret_key.updated': 'Secret key changed',
  'secret_key.rotated': 'Secret key rotated',
  'secret_key.revoked': 'Secret key revoked',
  'secret_key.ended_deleted': 'Ended secret keys deleted',
  'workspace_member.joined': 'Member joined',
  'workspace_member.role_changed': 'Role changed',
  'workspace_member.removed': 'Member removed',
  'workspace_invite.created': 'Invitation sent',
  'workspace_invite.revoked': 'Invitation revoked',
  'session.revoked': 'Session ended',
}

export const isAction = (text: unknown): text is AuditAction =>
  typeof text === 'string' && Object.hasOwn(actionWords, text)

const actorWords: Record<AuditLog['actor_type'], string> = {
  user: 'Former member',
  secret_key: 'Secret key',
  embed_token: 'Embed session',
  bootstrap: 'Bootstrap token',
  codehost: 'Code host',
  operator: 'Operator',
  system: 'Keyrail',
}

export const targetWords: Record<AuditLog['target_type'], string> = {
  workspace: 'Workspace',
  project: 'Project',
  tenant: 'Tenant',
  api_key: 'Key',
  secret_key: 'Secret key',
  workspace_member: 'Member',
  workspace_invite: 'Invitation',
  session: 'Session',
}

/** The last digits of an id. The first ones are a time, which neighbours share. */
export const shortId = (id: string): string => `…${id.slice(-8)}`

export const secretKeyWords = ({ name, display_prefix }: { name: string | null; display_prefix: string }) =>
  `${actorWords.secret_key} ${name ?? `${display_prefix}…`}`

/** The person by address, a secret key by name, an embed session by its tenant; what is gone by its kind and the end of its id. */
export function actorOf({ actor, actor_secret_key, actor_tenant, actor_type, actor_id }: AuditLog): string {
  if (actor !== undefined) return actor.email
  if (actor_secret_key !== undefined) return secretKeyWords(actor_secret_key)
  if (actor_tenant !== undefined)
    return `${actorWords.embed_token} of ${actor_tenant.name ?? actor_tenant.external_id}`
  return actor_id === null ? actorWords[actor_type] : `${actorWords[actor_type]} ${shortId(actor_id)}`
}

/** The name of its target that a row holds, or how its key begins; null when it holds neither. */
export function nameIn({ payload }: AuditLog): string | null {
  const successor = payload?.successor
  const held = typeof successor === 'object' && successor !== null ? { ...payload, ...successor } : payload
  const names = [held?.name, held?.email, held?.external_id, held?.slug]
  const prefix = held?.display_prefix
  return names.find(name => typeof name === 'string') ?? (typeof prefix === 'string' ? `${prefix}…` : null)
}
