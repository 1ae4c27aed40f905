import {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedKeyList,
  EmbedKeys,
  EmbedKeyUpdate,
  EmbedSession,
  EmbedTenant,
  EmbedTenantUpdate,
  EmbedToken,
  EmbedTokenCreate,
  Jwks,
  RotatedEmbedKey,
} from '../embed.ts'
import { DisableBody, RevokeBody, RotateBody } from '../shared.ts'
import { KeyUsage, KeyUsageQuery } from '../vendor/usage.ts'
import { declareRoutes } from './declare.ts'

const publishedKeys = {
  plane: 'open',
  summary: 'Get the embed signing keys',
  description: 'Returns the public keys that verify embed tokens, as a JWK Set (RFC 7517).',
  answer: Jwks,
  refusals: ['unavailable'],
} as const

export const embedRoutes = declareRoutes({
  'POST /v1/embed_tokens': {
    plane: 'vendor',
    operation: 'createEmbedToken',
    summary: 'Create an embed token',
    description:
      "Issues a token that is valid for five minutes, with which a tenant's browser manages the tenant's keys. `create_tenant` creates the tenant if you have not created it yet.",
    permission: 'embed:mint',
    body: EmbedTokenCreate,
    status: 201,
    answer: EmbedToken,
    refusals: ['not_found', 'origin_not_allowed', 'live_credential_required', 'whole_workspace_required'],
  },
  'GET /v1/embed/session': {
    plane: 'embed',
    operation: 'getEmbedSession',
    summary: 'Get the embed session',
    description:
      'Returns what a widget draws: the tenant and project of the token, what it allows, the scopes to offer for a new key, when it expires, and the theme.',
    answer: EmbedSession,
  },
  'PATCH /v1/embed/tenant': {
    plane: 'embed',
    operation: 'updateEmbedTenant',
    summary: "Change the tenant's networks",
    description:
      'Replaces the networks from which those keys of the tenant may be used that have none of their own, in every project and environment. A token of `test` is refused.',
    scope: 'network:write',
    body: EmbedTenantUpdate,
    answer: EmbedTenant,
    refusals: ['live_credential_required'],
  },
  'GET /v1/embed/keys': {
    plane: 'embed',
    operation: 'listEmbedKeys',
    summary: "List the tenant's keys",
    description:
      "Returns the tenant's keys in the project and environment of the token, newest first. With the `ETag` of an earlier answer in `If-None-Match`, the answer is 304 while nothing has changed.",
    scope: 'keys:read',
    query: EmbedKeyList,
    answer: EmbedKeys,
    conditional: true,
  },
  'POST /v1/embed/keys': {
    plane: 'embed',
    operation: 'createEmbedKey',
    summary: 'Create a key',
    description: 'Issues a key with scopes that the token grants. The key is shown once.',
    scope: 'keys:write',
    body: EmbedKeyCreate,
    status: 201,
    answer: CreatedEmbedKey,
    refusals: ['not_found', 'key_limit_reached'],
  },
  'PATCH /v1/embed/keys/:id': {
    plane: 'embed',
    operation: 'updateEmbedKey',
    summary: 'Update a key',
    description:
      'Replaces the fields that the body names. The expiry may only become earlier. `allowed_cidrs` needs the scope `network:write` too. A revoked key cannot be changed.',
    scope: 'keys:write',
    body: EmbedKeyUpdate,
    answer: EmbedKey,
    refusals: ['key_not_active'],
  },
  'POST /v1/embed/keys/:id/rotate': {
    plane: 'embed',
    operation: 'rotateEmbedKey',
    summary: 'Rotate a key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    scope: 'keys:write',
    body: RotateBody,
    answer: RotatedEmbedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
  },
  'POST /v1/embed/keys/:id/revoke': {
    plane: 'embed',
    operation: 'revokeEmbedKey',
    summary: 'Revoke a key',
    description: 'Revokes the key for good. Repeating the call changes nothing.',
    scope: 'keys:write',
    body: RevokeBody,
    answer: EmbedKey,
  },
  'POST /v1/embed/keys/:id/disable': {
    plane: 'embed',
    operation: 'disableEmbedKey',
    summary: 'Pause a key',
    description:
      'The key is refused until it is resumed; all else of it stays. Repeating the call changes nothing.',
    scope: 'keys:write',
    body: DisableBody,
    answer: EmbedKey,
    refusals: ['key_not_active'],
  },
  'POST /v1/embed/keys/:id/enable': {
    plane: 'embed',
    operation: 'enableEmbedKey',
    summary: 'Resume a paused key',
    description:
      'The key is what it was before the pause. A key that the vendor paused is 409. A key that is not paused stays as it is.',
    scope: 'keys:write',
    answer: EmbedKey,
    refusals: ['key_not_active'],
  },
  'GET /v1/embed/keys/:id/usage': {
    plane: 'embed',
    operation: 'getEmbedKeyUsage',
    summary: "Get a key's usage",
    description: 'Returns how often the key was used, by day.',
    scope: 'keys:read',
    query: KeyUsageQuery,
    answer: KeyUsage,
  },
  'GET /.well-known/jwks.json': { ...publishedKeys, operation: 'jwks' },
  'GET /v1/.well-known/jwks.json': { ...publishedKeys, operation: 'jwksV1' },
})
