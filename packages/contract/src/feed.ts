import type { Static } from 'typebox'
import { cidrsMax } from './networks.ts'
import { Type } from './schema.ts'
import {
  BooleanText,
  Cursor,
  Env,
  ExternalId,
  nullable,
  oneOf,
  RateLimits,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from './shared.ts'

/**
 * The policy feed: what a vendor's nodes hold in memory to verify keys without a call. Spec, "Policy feed
 * records". A node takes a snapshot, page by page, and then asks for changes since its version.
 */

/** The spec's node identifier: the name that a node gives itself. */
export const nodeIdPattern = /^[A-Za-z0-9._:-]{1,128}$/
export const NodeId = Type.String({ pattern: nodeIdPattern.source, examples: ['api-7f9c:4211.x8Q2'] })

/** 1 to 50 ids, repeated or comma-separated. Ids of other workspaces match nothing. */
const TenantIds = Type.Array(Uuid, { minItems: 1, maxItems: 50 })

/** What a node understands beyond the first version of the feed. The service ignores unknown names. */
const Features = Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
  minItems: 1,
  maxItems: 32,
  description:
    'What the node understands, repeated or comma-separated: `external_id`, `key_meta` and `labels` add fields, `suspended` says which tenants are suspended, `cidr` from which networks keys may be used, `lifetime` which keys get too old, `imported` gives keys from another system, which have any form; `held_ms` adds one to answers that were held, `refusals` one to all; `labels` requires the permission `policy:labels`. Keys that need a feature not named here are left out.',
})

const int4Max = 2_147_483_647

const scope = {
  project_id: Uuid,
  env: Type.Optional(Env),
  tenant_id: Type.Optional(TenantIds),
  node: Type.Optional(NodeId),
  features: Type.Optional(Features),
  max_keys: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The page size, up to the largest that the service allows. Without it the answer is one page.',
    }),
  ),
  held_keys: Type.Optional(
    Type.Integer({ minimum: 0, maximum: int4Max, description: 'How many keys the node holds.' }),
  ),
  held_keys_max: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: int4Max,
      description: 'How many keys the node may hold. The service shows which nodes are nearly full.',
    }),
  ),
}

export const SnapshotQuery = Type.Object({ ...scope, cursor: Type.Optional(Cursor) })
export type SnapshotQuery = Static<typeof SnapshotQuery>

export const DeltaQuery = Type.Object({
  ...scope,
  since: Type.Integer({
    minimum: 0,
    description: 'The version that the node holds. The request acknowledges it.',
  }),
  leaving: Type.Optional({
    ...BooleanText,
    description:
      '`true`: the node has stopped and refuses every key. No call waits for it any more, and the answer has no changes.',
  }),
})
export type DeltaQuery = Static<typeof DeltaQuery>

/** SHA-256 of the whole key in padded base64: an index, not a secret. */
const LookupHash = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })

/** `meta` with more bytes of JSON than this is sent as null. */
export const feedMetaBytesMax = 2_048
const FeedMeta = Type.Unsafe<Record<string, unknown> | null>({
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Only with the feature `key_meta`, or `labels` for a tenant. Null if its JSON exceeds 2 KiB.',
})

const policyKey = {
  key_id: Uuid,
  tenant_id: Uuid,
  env: Env,
  lookup_hash: LookupHash,
  display_prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  expires_at: nullable({
    ...Timestamp,
    description: 'Without the feature `lifetime`: no later than the key is too old for its project.',
  }),
  too_old_at: Type.Optional({
    ...Timestamp,
    description:
      'Only with the feature `lifetime`: when the key is too old for its project, if that is before `expires_at`.',
  } as typeof Timestamp),
  rate_limits: Type.Optional(
    Type.Unsafe<Static<typeof RateLimits>>({
      ...RateLimits,
      description: 'The effective limits of the key. Absent: none.',
    }),
  ),
  name: Type.Optional(nullable({ ...StoredName, description: 'Only with the feature `labels`.' })),
  meta: Type.Optional(FeedMeta),
  allowed_cidrs: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: cidrsMax,
      description:
        'Only with the feature `cidr`: the networks from which the key may be used; `[]`: any. Absent: those of its tenant.',
    }),
  ),
}

export const PolicyKey = strictObject(policyKey)
export type PolicyKey = Static<typeof PolicyKey>

export const PolicyUpsert = strictObject({ change: Type.Literal('upsert'), ...policyKey })
/** Why a key no longer works. New causes may be added: treat an unknown one as absent. */
export const TombstoneCause = oneOf(['revoked', 'expired', 'disabled', 'suspended', 'deleted'], {
  description: 'Why the key no longer works. Absent: it needs a feature that the node did not name.',
})
export type TombstoneCause = Static<typeof TombstoneCause>
export const PolicyTombstone = strictObject({
  change: Type.Literal('tombstone'),
  key_id: Uuid,
  env: Env,
  lookup_hash: LookupHash,
  cause: Type.Optional(TombstoneCause),
})
export const PolicyChange = Type.Union([PolicyUpsert, PolicyTombstone])
export type PolicyChange = Static<typeof PolicyChange>

/** A tenant of the keys. Sent beside the keys, since a tenant may have a hundred thousand of them. */
export const PolicyTenant = strictObject({
  tenant_id: Uuid,
  external_id: Type.Optional(
    Type.String({
      ...ExternalId,
      description: 'Only with the feature `external_id`: your own id of the tenant.',
    }),
  ),
  name: Type.Optional(nullable({ ...StoredName, description: 'Only with the feature `labels`.' })),
  meta: Type.Optional(FeedMeta),
  suspended: Type.Optional(
    Type.Literal(true, {
      description:
        'Only with the feature `suspended`: all keys of the tenant are refused. Absent: they are not.',
    }),
  ),
  allowed_cidrs: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: cidrsMax,
      description:
        'Only with the feature `cidr`: the networks from which keys of the tenant may be used that have no list of their own. Absent: any.',
    }),
  ),
})
export type PolicyTenant = Static<typeof PolicyTenant>

const head = {
  workspace_id: Uuid,
  project_id: Uuid,
  env: nullable(oneOf(['live', 'test'], { description: 'Null: both environments.' })),
  version: Type.Integer({ minimum: 1 }),
  project_deleted: Type.Boolean(),
  generated_at: Timestamp,
  features: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'The requested features that the service knows and the secret key may see, sorted, without `held_ms` and `refusals`. Absent if none was requested. `names` and `meta` of earlier nodes stand for `external_id` and `key_meta`, with labels where the key may see them.',
    }),
  ),
  accepts_imported: Type.Optional(
    Type.Literal(true, {
      description:
        'Only with the feature `imported`: a key of the project may be any text of 1 to 512 visible ASCII characters. Absent: keys have the form and the checksum of this service.',
    }),
  ),
  takes_refusals: Type.Optional(
    Type.Literal(true, {
      description:
        'Only with the feature `refusals`: the service takes `POST /v1/usage/refusals` from this secret key.',
    }),
  ),
  tenants: Type.Optional(
    Type.Array(PolicyTenant, {
      description:
        'With a feature of tenants: the tenants of the keys in this body and, in a delta, those that have changed. With `suspended` alone, a snapshot lists the suspended ones.',
    }),
  ),
}

export const PolicySnapshot = strictObject({
  object: Type.Literal('policy_snapshot'),
  ...head,
  keys: Type.Array(PolicyKey),
  next_cursor: nullable(Type.String()),
})
export type PolicySnapshot = Static<typeof PolicySnapshot>

export const PolicyDelta = strictObject({
  object: Type.Literal('policy_delta'),
  ...head,
  since: Type.Integer({ minimum: 0 }),
  held_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Only with the feature `held_ms`, of an answer that was held: how long after the request came the service last saw, by its monotonic clock, that the project had this version or an earlier one.',
    }),
  ),
  changes: Type.Array(PolicyChange),
})
export type PolicyDelta = Static<typeof PolicyDelta>

/** The answer of `/delta`: the changes, or a snapshot if the service no longer has them all. */
export const PolicyDeltaOrSnapshot = Type.Union([PolicyDelta, PolicySnapshot])
