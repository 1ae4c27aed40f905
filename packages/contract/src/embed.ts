import Type, { type Static, type TSchema } from 'typebox'
import {
  BooleanText,
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
  resource,
  Scopes,
  strictObject,
  Timestamp,
  Uuid,
} from './shared.ts'

/** What an embed token may do. Neither of the first two implies the other. */
const EmbedScope = Type.String({
  minLength: 1,
  maxLength: 220,
  pattern: '^(?:keys:read|keys:write|key_scope:[\\s\\S]+)$',
  description:
    '`keys:read` and `keys:write` open the routes; `key_scope:<scope>` lets a key made there carry <scope>.',
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
        'Some of the workspace’s `embed_origins`. Left out: all that are registered at each request.',
    }),
  ),
}
const EmbedTokenFields = strictObject(embedTokenCreate)
export const EmbedTokenCreate = Type.Unsafe<Static<typeof EmbedTokenFields> & OneTenant>(
  strictObject({ ...embedTokenCreate, ...namedTenant }, oneTenant),
)
export type EmbedTokenCreate = Static<typeof EmbedTokenCreate>

/** Not stored anywhere, so it has neither an id nor a place in a list. */
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

/** Whose keys a token is for, what it may do and how long. */
export const EmbedSession = strictObject({
  object: Type.Literal('embed_session'),
  tenant: strictObject({ id: Uuid, external_id: Type.String(), name: nullable(Name) }),
  project: strictObject({ id: Uuid, name: Name }),
  env: Env,
  scopes: Type.Array(EmbedScope),
  can: strictObject({
    read: Type.Boolean(),
    write: Type.Boolean(),
    key_scopes: Type.Array(Type.String()),
  }),
  expires_at: Timestamp,
})
export type EmbedSession = Static<typeof EmbedSession>

export const EmbedKeyList = Type.Object({ include_revoked: Type.Optional(BooleanText), ...paging(100) })
export type EmbedKeyList = Static<typeof EmbedKeyList>

export const EmbedKeyCreate = strictObject({ name: Type.Optional(Name), scopes: Type.Optional(Scopes) })
export type EmbedKeyCreate = Static<typeof EmbedKeyCreate>

/** A key as a vendor's customer sees it: `meta` is the vendor's, and where it belongs is what the token says. */
const fields = {
  name: nullable(Name),
  display_prefix: Type.String(),
  scopes: Scopes,
  rate_limits: nullable(RateLimits),
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  revoked_reason: nullable(Type.String()),
  rotated_from: nullable(Uuid),
  rotated_to: nullable(Uuid),
  last_used_at: nullable(Timestamp),
  updated_at: Timestamp,
} satisfies Record<string, TSchema>
export const EmbedKey = resource('api_key', fields)
export type EmbedKey = Static<typeof EmbedKey>
export const EmbedKeys = listOf(EmbedKey)

const ShownOnce = Type.String({ description: 'The key itself, in this answer only.' })
export const CreatedEmbedKey = resource('api_key', { ...fields, key: ShownOnce })
export type CreatedEmbedKey = Static<typeof CreatedEmbedKey>
export const RotatedEmbedKey = resource('api_key', { ...fields, key: ShownOnce, predecessor: Predecessor })
export type RotatedEmbedKey = Static<typeof RotatedEmbedKey>

const coordinate = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })
/** RFC 7517: the public keys that embed tokens are signed with, those that are about to be used included. */
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
