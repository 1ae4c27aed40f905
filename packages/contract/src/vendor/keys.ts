import type { Static } from 'typebox'
import { KeyNetworks } from '../networks.ts'
import { Type } from '../schema.ts'
import {
  BooleanText,
  Env,
  listOf,
  Meta,
  Name,
  namedTenant,
  nullable,
  type OneTenant,
  oneOf,
  oneTenant,
  oneTenantAtMost,
  Predecessor,
  paging,
  RateLimits,
  type ReadQuery,
  resource,
  Scopes,
  StoredName,
  searchText,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'

/** What a vendor sets of a key. */
export const keySettings = {
  name: Type.Optional(Name),
  scopes: Type.Optional(Scopes),
  meta: Type.Optional(Meta),
  rate_limits: Type.Optional(
    Type.Unsafe<Static<typeof RateLimits>>({
      ...RateLimits,
      description: 'Absent: the project default. An empty array: no limits.',
    }),
  ),
  allowed_cidrs: Type.Optional(KeyNetworks),
  expires_at: Type.Optional(Timestamp),
}
const keyCreate = { project_id: Uuid, env: Env, ...keySettings }
const KeyCreateFields = strictObject(keyCreate)
export const KeyCreate = Type.Unsafe<Static<typeof KeyCreateFields> & OneTenant>(
  strictObject({ ...keyCreate, ...namedTenant }, oneTenant),
)
export type KeyCreate = Static<typeof KeyCreate>

export const KeyUpdate = strictObject({
  name: Type.Optional(nullable(Name)),
  scopes: Type.Optional(Scopes),
  meta: Type.Optional(Meta),
  rate_limits: Type.Optional(nullable(RateLimits)),
  allowed_cidrs: Type.Optional(KeyNetworks),
  expires_at: Type.Optional(nullable(Timestamp)),
})
export type KeyUpdate = Static<typeof KeyUpdate>

/** Where a key is in its life. A key that expires within 14 days is active too. */
export const KeyStatus = oneOf(['active', 'expiring', 'disabled', 'expired', 'revoked'], {
  description:
    '`expiring`: active, ends within 14 days, the next first. `disabled`: paused, neither expired nor revoked. `expired`: not revoked, the last first. Replaces `include_revoked`.',
})
export type KeyStatus = Static<typeof KeyStatus>

/** What keys should be looked after for. */
export const KeyHygiene = oneOf(['never_expires', 'expiring', 'unused', 'idle', 'too_old'], {
  description:
    'Active keys, not paused. `never_expires`: without an end, the first made first. `expiring`: ends within `days` (14), the next first. `idle`: not used for `days` (90), nor made in these, the longest first; `unused`: of these, the never used. `too_old`: older than `max_key_lifetime_days` of their project, the first made first; needs `project_id`. Not with `q`, `status`, `name` and `include_revoked`.',
})
export type KeyHygiene = Static<typeof KeyHygiene>
/** What `days` is without a number. */
export const hygieneDays = { expiring: 14, unused: 90, idle: 90 } as const
export const HygieneDays = Type.Integer({
  minimum: 1,
  maximum: 3_650,
  description: 'With `hygiene=expiring`, `unused` or `idle`.',
})

export const KeyList = Type.Object(
  {
    project_id: Type.Optional(Uuid),
    ...namedTenant,
    env: Type.Optional(Env),
    name: Type.Optional(StoredName),
    include_revoked: Type.Optional(BooleanText),
    q: searchText('the `name` or the `display_prefix`'),
    status: Type.Optional(KeyStatus),
    hygiene: Type.Optional(KeyHygiene),
    days: Type.Optional(HygieneDays),
    ...paging(),
  },
  oneTenantAtMost,
)
export type KeyList = ReadQuery<typeof KeyList>

/** Any other text is not found, as an unknown key. */
export const KeyIdentify = strictObject({
  key: Type.String({
    minLength: 1,
    maxLength: 512,
    description: 'The key itself. It is not stored or logged.',
  }),
})
export type KeyIdentify = Static<typeof KeyIdentify>

export const RevokeQuery = Type.Object({ wait: Type.Optional(BooleanText) })
export type RevokeQuery = Static<typeof RevokeQuery>

/** Who paused a key. The vendor can resume any key, a tenant only what it paused itself. */
export const KeyPauser = oneOf(['vendor', 'tenant'])
export type KeyPauser = Static<typeof KeyPauser>

const fields = {
  project_id: Uuid,
  tenant_id: Uuid,
  env: Env,
  name: nullable(StoredName),
  display_prefix: Type.String(),
  scopes: Scopes,
  meta: Meta,
  rate_limits: nullable(RateLimits),
  allowed_cidrs: KeyNetworks,
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  revoked_reason: nullable(Type.String()),
  disabled_at: nullable({ ...Timestamp, description: 'When the key was paused. Null: it is not.' }),
  disabled_reason: nullable(Type.String()),
  disabled_by: nullable(KeyPauser),
  rotated_from: nullable(Uuid),
  rotated_to: nullable(Uuid),
  source_id: nullable({
    ...Type.String(),
    description: 'The id of an imported key where it comes from.',
  }),
  imported_at: nullable({
    ...Timestamp,
    description: 'When the key came from another system. Null: it was made here.',
  }),
  last_used_at: nullable(Timestamp),
  updated_at: Timestamp,
}
export const Key = resource('api_key', fields)
export type Key = Static<typeof Key>
export const Keys = listOf(Key)
export type Keys = Static<typeof Keys>

const ShownOnce = Type.Optional(
  Type.String({
    description:
      'The key itself, only in this answer. A replayed answer does not have it: rotate the key then.',
  }),
)
export const CreatedKey = resource('api_key', { ...fields, key: ShownOnce })
export type CreatedKey = Static<typeof CreatedKey>
export const RotatedKey = resource('api_key', { ...fields, key: ShownOnce, predecessor: Predecessor })
export type RotatedKey = Static<typeof RotatedKey>

/**
 * The result of `wait=true`: how many live nodes have asked for a version at or after the change. For a tenant, these are the
 * nodes of all projects in which it has keys.
 */
export const Propagation = strictObject({
  acknowledged: Type.Boolean(),
  version: Type.Integer({
    description: 'The version of the change; of several projects the highest, and 0 without a project.',
  }),
  nodes: Type.Integer(),
  nodes_acknowledged: Type.Integer(),
  pending: Type.Array(Type.String(), { maxItems: 50 }),
  waited_ms: Type.Integer(),
  reason: Type.Optional(
    Type.Literal('nodes_unknown', {
      description:
        'The database was replaced, or its clock set, within the last 90 s. Until all nodes have polled again, no revocation is acknowledged, and none is waited for.',
    }),
  ),
})
export type Propagation = Static<typeof Propagation>
/** With `wait=true`, the answer says how far the change has come. */
const settled = { ...fields, propagation: Type.Optional(Propagation) }
export const RevokedKey = resource('api_key', settled)
export type RevokedKey = Static<typeof RevokedKey>
/** A key that was paused or resumed. */
export const PausedKey = resource('api_key', settled)
export type PausedKey = Static<typeof PausedKey>
