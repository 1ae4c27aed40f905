import Type, { type Static } from 'typebox'
import { Env, listOf, Name, nullable, oneOf, paging, strictObject, Timestamp, Uuid } from '../shared.ts'

/** Who did it. The last four act without a row of their own in the workspace. */
export const actorTypes = [
  'user',
  'secret_key',
  'embed_token',
  'bootstrap',
  'codehost',
  'operator',
  'system',
] as const

/** Every action an audit row can name. `docs/audit-verification.md` is held against this list. */
export const auditActions = [
  'workspace.created',
  'workspace.updated',
  'project.created',
  'project.updated',
  'project.deleted',
  'tenant.created',
  'tenant.updated',
  'tenant.deleted',
  'tenant.embed_tokens_revoked',
  'api_key.created',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'secret_key.created',
  'secret_key.rotated',
  'secret_key.revoked',
  'workspace_member.joined',
  'workspace_member.role_changed',
  'workspace_member.removed',
  'workspace_invite.created',
  'workspace_invite.revoked',
  'session.revoked',
] as const
export type AuditAction = (typeof auditActions)[number]

/** What an action is about. */
export const auditTargets = [
  'workspace',
  'project',
  'tenant',
  'api_key',
  'secret_key',
  'workspace_member',
  'workspace_invite',
  'session',
] as const
export type AuditTarget = (typeof auditTargets)[number]

const Sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$' })

export const AuditLog = strictObject({
  object: Type.Literal('audit_log'),
  id: Type.String({ description: 'The seq, as text.' }),
  seq: Type.Integer({ minimum: 1 }),
  workspace_id: Uuid,
  action: oneOf(auditActions),
  actor_type: oneOf(actorTypes),
  actor_id: nullable(Type.String()),
  actor: Type.Optional(
    strictObject(
      { email: Type.String(), name: nullable(Name) },
      { description: 'The person, where the actor is one whose account is still there.' },
    ),
  ),
  target_type: oneOf(auditTargets),
  target_id: Uuid,
  env: nullable(Env),
  payload: nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })),
  prev_hash: Sha256Hex,
  hash: Sha256Hex,
  created_at: Timestamp,
})
export type AuditLog = Static<typeof AuditLog>

export const AuditLogList = Type.Object({
  after_seq: Type.Optional(Type.Integer({ minimum: 0 })),
  ...paging(),
})
export const AuditLogs = listOf(AuditLog)

export const chainFaults = ['hash_mismatch', 'gap', 'head_mismatch'] as const

/** From which row on the log is exported, as lines of JSON, each an audit log. */
export const AuditExport = Type.Object({ after_seq: Type.Optional(Type.Integer({ minimum: 0 })) })
export const AuditExported = Type.String({ description: 'A line of JSON a row, in rising order of `seq`.' })

/** What verifies the notes of checkpoints, as C2SP writes a key: `name+id+key`. */
export const CheckpointKeys = strictObject({ verifier_keys: Type.Array(Type.String()) })

/** What a full re-derivation found. Only counts and hashes: the answer discloses nothing of the rows. */
export const AuditChain = strictObject({
  object: Type.Literal('audit_chain'),
  valid: Type.Boolean(),
  checked: Type.Integer({ minimum: 0, description: 'Rows that hold, counted from the first.' }),
  first_bad_seq: nullable(Type.Integer()),
  reason: nullable(oneOf(chainFaults)),
  head_seq: nullable(Type.Integer()),
  head_hash: nullable(Sha256Hex),
  checkpoint: nullable(
    Type.String({
      description:
        'The head as a signed note (C2SP), where the chain holds: keep it, and a rewrite can be proved. Its key is at `/.well-known/audit-checkpoint-key`.',
    }),
  ),
})
export type AuditChain = Static<typeof AuditChain>
/** As it is derived, before its head is signed. */
export type DerivedChain = Omit<AuditChain, 'checkpoint'>
