import Type, { type Static } from 'typebox'
import {
  BooleanText,
  Env,
  listOf,
  Meta,
  Name,
  namedTenant,
  nullable,
  type OneTenant,
  oneTenant,
  oneTenantAtMost,
  Predecessor,
  paging,
  RateLimits,
  resource,
  Scopes,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'

const keyCreate = {
  project_id: Uuid,
  env: Env,
  name: Type.Optional(Name),
  scopes: Type.Optional(Scopes),
  meta: Type.Optional(Meta),
  rate_limits: Type.Optional(
    Type.Unsafe<Static<typeof RateLimits>>({
      ...RateLimits,
      description: 'Left out: the project default. An empty array: no limits.',
    }),
  ),
  expires_at: Type.Optional(Timestamp),
}
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
  expires_at: Type.Optional(nullable(Timestamp)),
})
export type KeyUpdate = Static<typeof KeyUpdate>

export const KeyList = Type.Object(
  {
    project_id: Type.Optional(Uuid),
    ...namedTenant,
    env: Type.Optional(Env),
    name: Type.Optional(Name),
    include_revoked: Type.Optional(BooleanText),
    ...paging(),
  },
  oneTenantAtMost,
)
export type KeyList = Static<typeof KeyList>

export const RevokeQuery = Type.Object({ wait: Type.Optional(BooleanText) })

const fields = {
  project_id: Uuid,
  tenant_id: Uuid,
  env: Env,
  name: nullable(Name),
  display_prefix: Type.String(),
  scopes: Scopes,
  meta: Meta,
  rate_limits: nullable(RateLimits),
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  revoked_reason: nullable(Type.String()),
  rotated_from: nullable(Uuid),
  rotated_to: nullable(Uuid),
  last_used_at: nullable(Timestamp),
  updated_at: Timestamp,
}
export const Key = resource('api_key', fields)
export type Key = Static<typeof Key>
export const Keys = listOf(Key)

const ShownOnce = Type.Optional(
  Type.String({
    description:
      'The key itself, in this answer only. Absent where the answer is replayed, as after one that was lost: rotate the key then.',
  }),
)
export const CreatedKey = resource('api_key', { ...fields, key: ShownOnce })
export type CreatedKey = Static<typeof CreatedKey>
export const RotatedKey = resource('api_key', { ...fields, key: ShownOnce, predecessor: Predecessor })

/** What `wait=true` reports: which live nodes have asked for a version at or after the revocation. */
export const Propagation = strictObject({
  acknowledged: Type.Boolean(),
  version: Type.Integer(),
  nodes: Type.Integer(),
  nodes_acknowledged: Type.Integer(),
  pending: Type.Array(Type.String(), { maxItems: 50 }),
  waited_ms: Type.Integer(),
})
export type Propagation = Static<typeof Propagation>
export const RevokedKey = resource('api_key', { ...fields, propagation: Type.Optional(Propagation) })
