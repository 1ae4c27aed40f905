import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  Env,
  listOf,
  nullable,
  oneOf,
  paging,
  type ReadQuery,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'

/** Kinds of actor. The last four have no row in the workspace. */
export const actorTypes = [
  'user',
  'secret_key',
  'embed_token',
  'bootstrap',
  'codehost',
  'operator',
  'system',
] as const

/** Every action an audit row can name. A test compares `docs/audit-verification.md` with this list. */
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
  'tenant.suspended',
  'tenant.resumed',
  'api_key.created',
  'api_key.imported',
  'api_key.updated',
  'api_key.rotated',
  'api_key.revoked',
  'api_key.disabled',
  'api_key.enabled',
  'api_key.ended_deleted',
  'api_key.exported',
  'secret_key.created',
  'secret_key.updated',
  'secret_key.rotated',
  'secret_key.revoked',
  'secret_key.ended_deleted',
  'workspace_member.joined',
  'workspace_member.role_changed',
  'workspace_member.removed',
  'workspace_invite.created',
  'workspace_invite.revoked',
  'session.revoked',
] as const
export type AuditAction = (typeof auditActions)[number]

export const AuditAction = oneOf(auditActions)

/** The kind of object that an action changes. */
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
  id: Type.String({ description: 'The seq, as a string.' }),
  seq: Type.Integer({ minimum: 1 }),
  workspace_id: Uuid,
  action: AuditAction,
  actor_type: oneOf(actorTypes),
  actor_id: nullable(Type.String()),
  actor: Type.Optional(
    strictObject(
      { email: Type.String(), name: nullable(StoredName) },
      { description: 'The person, if the actor is one and the account still exists.' },
    ),
  ),
  actor_secret_key: Type.Optional(
    strictObject(
      { name: nullable(StoredName), display_prefix: Type.String() },
      {
        description:
          'The secret key by its present name, if the actor is one and the workspace still has it. Not in exports.',
      },
    ),
  ),
  actor_tenant: Type.Optional(
    strictObject(
      { id: Uuid, external_id: Type.String(), name: nullable(StoredName) },
      {
        description:
          'The tenant of the embed token, if the actor is one and the changed key still exists. Not in exports.',
      },
    ),
  ),
  ip: Type.Optional(
    Type.String({
      description:
        'The address from which the change was made, as the trusted proxies report it. For owners, until it is erased.',
    }),
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
  after_seq: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Only rows after this one. Not with `order=desc`.' }),
  ),
  before_seq: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Only rows before this one. Needs `order=desc`.' }),
  ),
  order: Type.Optional(
    oneOf(['asc', 'desc'], { default: 'asc', description: '`asc`: oldest first. `desc`: newest first.' }),
  ),
  action: Type.Optional(AuditAction),
  actor_id: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$', description: 'The id of who acted.' }),
  ),
  target_id: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'The id of the changed object, which may be deleted since.',
    }),
  ),
  created_after: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'Only rows of this time and later.' }),
  ),
  created_before: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'Only rows before this time.' }),
  ),
  env: Type.Optional(oneOf(['live', 'test'], { description: 'Leaves out rows that have no environment.' })),
  ...paging(),
})
export type AuditLogList = ReadQuery<typeof AuditLogList>
export const AuditLogs = listOf(AuditLog)
export type AuditLogs = Static<typeof AuditLogs>

export const chainFaults = ['hash_mismatch', 'gap', 'head_mismatch'] as const

/** The row after which the export begins. Each line of the export is an audit log in JSON. */
export const AuditExport = Type.Object({ after_seq: Type.Optional(Type.Integer({ minimum: 0 })) })
export type AuditExport = Static<typeof AuditExport>
export const AuditExported = Type.String({
  description: 'One line of JSON per row, in rising order of `seq`.',
})
export type AuditExported = Static<typeof AuditExported>

/** Keys that verify checkpoint notes, in C2SP form: `name+id+key`. */
export const CheckpointKeys = strictObject({ verifier_keys: Type.Array(Type.String()) })

/** The result of a full re-derivation. Only counts and hashes, nothing from the rows. */
export const AuditChain = strictObject({
  object: Type.Literal('audit_chain'),
  valid: Type.Boolean(),
  checked: Type.Integer({ minimum: 0, description: 'Rows that verify, counted from the first.' }),
  first_bad_seq: nullable(Type.Integer()),
  reason: nullable(oneOf(chainFaults)),
  head_seq: nullable(Type.Integer()),
  head_hash: nullable(Sha256Hex),
  checkpoint: nullable(
    Type.String({
      description:
        'The head as a signed note (C2SP), if the chain verifies. Keep it: it proves a later rewrite. Its key is at `/.well-known/audit-checkpoint-key`.',
    }),
  ),
})
export type AuditChain = Static<typeof AuditChain>
/** How far a verification is. */
export const AuditChainProgress = strictObject({
  object: Type.Literal('audit_chain_progress'),
  checked: Type.Integer({ minimum: 0, description: 'Rows that verify so far.' }),
  rows: Type.Integer({ minimum: 0, description: 'Rows up to the head.' }),
})
export type AuditChainProgress = Static<typeof AuditChainProgress>
export const AuditChainLines = Type.String({
  description:
    'Lines of JSON: any number of `{"object":"audit_chain_progress","checked":…,"rows":…}`, then the `audit_chain`. If it fails after the first line, the last line is a problem.',
})
/** The chain before its head is signed. */
export type DerivedChain = Omit<AuditChain, 'checkpoint'>
