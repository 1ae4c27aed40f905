import type { Static, TSchema } from 'typebox'
import { KeyNetworks, TenantNetworks } from './networks.ts'
import { Type } from './schema.ts'
import {
  BooleanText,
  EmbedTheme,
  Env,
  listOf,
  Name,
  namedTenant,
  nullable,
  type OneTenant,
  oneTenant,
  Predecessor,
  paging,
  RateLimits,
  type ReadQuery,
  resource,
  Scopes,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from './shared.ts'
import { KeyPauser } from './vendor/keys.ts'

/** What an embed token may do. None of `keys:read`, `keys:write` and `network:write` implies another. */
const EmbedScope = Type.String({
  minLength: 1,
  maxLength: 220,
  pattern: '^(?:keys:read|keys:write|network:write|key_scope:[\\s\\S]+)$',
  description:
    '`keys:read` and `keys:write` open the routes; `network:write` lets the token change from which networks keys may be used; `key_scope:<scope>` lets a key made there carry <scope>.',
  examples: ['keys:read'],
})

const embedTokenCreate = {
  project_id: Uuid,
  env: Env,
  scopes: Type.Optional(Type.Array(EmbedScope, { maxItems: 32, default: ['keys:read'] })),
  origins: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      maxItems: 20,
      description:
        'Some of the workspace’s `embed_origins`. Absent: all those registered at the time of each request.',
    }),
  ),
}
const TenantToCreate = strictObject(
  { name: Type.Optional(Name) },
  { description: 'Creates the tenant if none has this `external_id`.' },
)
const EmbedTokenFields = strictObject(embedTokenCreate)
/** Only a tenant that is named by the vendor’s own id can be created. */
type TenantOfToken = OneTenant & { create_tenant?: never }
type MetTenant = { tenant_id?: never; external_id: string; create_tenant?: Static<typeof TenantToCreate> }
export const EmbedTokenCreate = Type.Unsafe<Static<typeof EmbedTokenFields> & (TenantOfToken | MetTenant)>(
  strictObject(
    { ...embedTokenCreate, ...namedTenant, create_tenant: Type.Optional(TenantToCreate) },
    { ...oneTenant, dependentRequired: { create_tenant: ['external_id'] } },
  ),
)
export type EmbedTokenCreate = Static<typeof EmbedTokenCreate>

/** Not stored, so it has no id and no list. */
export const EmbedToken = strictObject({
  object: Type.Literal('embed_token'),
  token: Type.String({ description: 'The token itself: a JWT, for one browser of this tenant.' }),
  expires_at: Timestamp,
  project_id: Uuid,
  tenant_id: Uuid,
  env: Env,
  scopes: Type.Array(EmbedScope),
  origins: Type.Array(Type.String()),
})
export type EmbedToken = Static<typeof EmbedToken>

/** The tenant of an embed token, what the token may do and until when, and how the widget looks. */
export const EmbedSession = strictObject({
  object: Type.Literal('embed_session'),
  vendor: strictObject({ name: StoredName }),
  tenant: strictObject({
    id: Uuid,
    external_id: Type.String(),
    name: nullable(StoredName),
    allowed_cidrs: TenantNetworks,
    suspended: Type.Optional(
      Type.Literal(true, {
        description:
          'Its keys are refused and the token can only read, until it is resumed. Absent: it is not.',
      }),
    ),
  }),
  project: strictObject({ id: Uuid, name: StoredName }),
  env: Env,
  scopes: Type.Array(EmbedScope),
  can: strictObject({
    read: Type.Boolean(),
    write: Type.Boolean(),
    update: Type.Boolean({ description: 'Whether `PATCH /v1/embed/keys/:id` is open to the token.' }),
    pause: Type.Boolean({ description: 'Whether the token may pause and resume keys.' }),
    network: Type.Boolean({
      description:
        'Whether the token has `network:write`: with `update`, it may change the networks of keys.',
    }),
    tenant_network: Type.Boolean({
      description:
        'Whether `PATCH /v1/embed/tenant` is open to the token. A token of `test` cannot: live keys would change.',
    }),
    key_scopes: Type.Array(Type.String()),
  }),
  known_scopes: nullable(
    Type.Array(Type.String(), {
      description: 'Those of `can.key_scopes` that the project knows, to offer. Null: it has no list.',
    }),
  ),
  theme: EmbedTheme,
  expires_at: Timestamp,
})
export type EmbedSession = Static<typeof EmbedSession>

export const EmbedKeyList = Type.Object({ include_revoked: Type.Optional(BooleanText), ...paging(100) })
export type EmbedKeyList = ReadQuery<typeof EmbedKeyList>

export const EmbedKeyCreate = strictObject({ name: Type.Optional(Name), scopes: Type.Optional(Scopes) })
export type EmbedKeyCreate = Static<typeof EmbedKeyCreate>

export const EmbedKeyUpdate = strictObject(
  {
    name: Type.Optional(nullable(Name)),
    expires_at: Type.Optional(
      Type.Unsafe<string | null>({
        ...nullable(Timestamp),
        description: 'Not later than it is now. Null: only for a key that never expires.',
      }),
    ),
    allowed_cidrs: Type.Optional(
      Type.Unsafe<string[] | null>({
        ...KeyNetworks,
        description:
          'Only with the scope `network:write`: the networks from which the key may be used. Null: those of its tenant. Empty: any.',
      }),
    ),
  },
  { minProperties: 1 },
)
export type EmbedKeyUpdate = Static<typeof EmbedKeyUpdate>

export const EmbedTenantUpdate = strictObject({ allowed_cidrs: TenantNetworks })
export type EmbedTenantUpdate = Static<typeof EmbedTenantUpdate>

/** The tenant as its own browser sees it: without the vendor's `meta`. */
export const EmbedTenant = resource('tenant', {
  external_id: Type.String(),
  name: nullable(StoredName),
  allowed_cidrs: TenantNetworks,
  updated_at: Timestamp,
})
export type EmbedTenant = Static<typeof EmbedTenant>

/** A key as a tenant sees it: without the vendor's `meta`, and without the ids that the token implies. */
const fields = {
  name: nullable(StoredName),
  display_prefix: Type.String(),
  scopes: Scopes,
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
  last_used_at: nullable(Timestamp),
  updated_at: Timestamp,
} satisfies Record<string, TSchema>
export const EmbedKey = resource('api_key', fields)
export type EmbedKey = Static<typeof EmbedKey>
export const EmbedKeys = listOf(EmbedKey)

const ShownOnce = Type.String({ description: 'The key itself, only in this answer.' })
export const CreatedEmbedKey = resource('api_key', { ...fields, key: ShownOnce })
export type CreatedEmbedKey = Static<typeof CreatedEmbedKey>
export const RotatedEmbedKey = resource('api_key', { ...fields, key: ShownOnce, predecessor: Predecessor })
export type RotatedEmbedKey = Static<typeof RotatedEmbedKey>

const coordinate = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })
/** RFC 7517: the public keys that verify embed tokens, including keys that will sign next. */
export const Jwks = strictObject({
  keys: Type.Array(
    strictObject({
      kty: Type.Literal('EC'),
      crv: Type.Literal('P-256'),
      x: coordinate,
      y: coordinate,
      kid: coordinate,
      alg: Type.Literal('ES256'),
      use: Type.Literal('sig'),
    }),
  ),
})
export type Jwks = Static<typeof Jwks>
