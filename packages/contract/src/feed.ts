import Type, { type Static } from 'typebox'
import {
  Cursor,
  Env,
  ExternalId,
  Name,
  nullable,
  oneOf,
  RateLimits,
  strictObject,
  Timestamp,
  Uuid,
} from './shared.ts'

/**
 * The policy feed: what a vendor's nodes hold in memory to verify keys without asking. Spec, "Policy feed
 * records". A node takes a snapshot, page by page, and then asks for what changed since.
 */

/** Who a node says it is: the spec's node identifier. */
export const NodeId = Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$', examples: ['api-7f9c:4211.x8Q2'] })

/** One id, or up to 50 of them, repeated or comma-separated. Ids that are not of the workspace match nothing. */
const TenantIds = Type.Array(Uuid, { minItems: 1, maxItems: 50 })

/** Something that a node understands beyond the first version of the feed. Names that the service does not know are passed over. */
const Features = Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
  minItems: 1,
  maxItems: 32,
  description:
    'What the node understands, repeated or comma-separated: `names` and `meta` add fields. A key that needs a feature which is not named is not there.',
})

const scope = {
  project_id: Uuid,
  env: Type.Optional(Env),
  tenant_id: Type.Optional(TenantIds),
  node: Type.Optional(NodeId),
  features: Type.Optional(Features),
  max_keys: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'The caller understands paging; also the page size, up to the largest the service allows.',
    }),
  ),
}

export const SnapshotQuery = Type.Object({ ...scope, cursor: Type.Optional(Cursor) })
export type SnapshotQuery = Static<typeof SnapshotQuery>

export const DeltaQuery = Type.Object({
  ...scope,
  since: Type.Integer({ minimum: 0, description: 'The version that the node holds; it acknowledges it.' }),
})
export type DeltaQuery = Static<typeof DeltaQuery>

/** Base64 SHA-256 of the whole key, padded: an index, not a secret. */
const LookupHash = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })

/** JSON of more bytes than this is not sent: null stands for it. */
export const feedMetaBytesMax = 2_048
const FeedMeta = Type.Unsafe<Record<string, unknown> | null>({
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'With the feature `meta` alone. Null where its JSON has more than 2 KiB.',
})

const policyKey = {
  key_id: Uuid,
  tenant_id: Uuid,
  env: Env,
  lookup_hash: LookupHash,
  display_prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  expires_at: nullable(Timestamp),
  rate_limits: Type.Optional(
    Type.Unsafe<Static<typeof RateLimits>>({
      ...RateLimits,
      description: 'The effective limits of the key; absent: none.',
    }),
  ),
  name: Type.Optional(nullable({ ...Name, description: 'With the feature `names` alone.' })),
  meta: Type.Optional(FeedMeta),
}

export const PolicyKey = strictObject(policyKey)
export type PolicyKey = Static<typeof PolicyKey>

export const PolicyUpsert = strictObject({ change: Type.Literal('upsert'), ...policyKey })
/** Why a key works no longer. Others may follow: read one that is not known as none. */
export const TombstoneCause = oneOf(['revoked', 'expired', 'disabled', 'suspended', 'deleted'], {
  description: 'Why the key works no longer. Absent: it needs a feature that the node does not name.',
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

/** Whose keys they are. Beside the keys, since a tenant may have a hundred thousand of them. */
export const PolicyTenant = strictObject({
  tenant_id: Uuid,
  external_id: Type.Optional(
    Type.String({ ...ExternalId, description: 'With the feature `names` alone: your own id of the tenant.' }),
  ),
  name: Type.Optional(nullable({ ...Name, description: 'With the feature `names` alone.' })),
  meta: Type.Optional(FeedMeta),
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
      description: 'Those asked for that the service knows, sorted. Absent where none was asked for.',
    }),
  ),
  tenants: Type.Optional(
    Type.Array(PolicyTenant, {
      description:
        'With `names` or `meta`: the tenants of the keys in this body and, in a delta, those that have changed.',
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
  changes: Type.Array(PolicyChange),
})
export type PolicyDelta = Static<typeof PolicyDelta>

/** What `/delta` answers: the changes, or a whole snapshot when they cannot be told. */
export const PolicyDeltaOrSnapshot = Type.Union([PolicyDelta, PolicySnapshot])
