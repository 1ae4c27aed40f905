/**
 * The tenant's own browser. `mint.ts` makes tokens and stores nothing, `session.ts` returns what a token allows,
 * and `actions.ts` manages the tenant's keys.
 */

import {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedKeyList,
  EmbedKeys,
  EmbedSession,
  EmbedToken,
  EmbedTokenCreate,
  Jwks,
  RotatedEmbedKey,
} from '@keyrail/contract/embed'
import { overlapHoursDefault, RevokeBody, RotateBody } from '@keyrail/contract/shared'
import { KeyUsage, KeyUsageQuery } from '@keyrail/contract/vendor/usage'
import { backends, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { jwksMaxAgeS } from '../platform/db/signing-keys.ts'
import { taggedBody } from '../platform/http/tagged-body.ts'
import {
  createEmbedKey,
  getEmbedKeyUsage,
  listEmbedKeys,
  meetEmbedTenant,
  revokeEmbedKey,
  rotateEmbedKey,
} from './actions.ts'
import { mintEmbedToken } from './mint.ts'
import type { EmbedNeeds } from './needs.ts'
import { readSession } from './session.ts'

const { embedRoute, openRoute, vendorRoute } = routesFor<EmbedNeeds>()

/** Any client and any page may read it: it has public keys only. */
const publicHeaders = {
  'cache-control': `public, max-age=${jwksMaxAgeS}`,
  'access-control-allow-origin': '*',
}

export const embedRoutes: Route<EmbedNeeds>[] = [
  vendorRoute('POST', '/v1/embed_tokens', {
    operation: 'createEmbedToken',
    summary: 'Create an embed token',
    description:
      "Issues a token that is valid for five minutes, with which a tenant's browser manages the tenant's keys. `create_tenant` creates the tenant if you have not created it yet.",
    access: withinProjects(backends('embed:mint')),
    body: EmbedTokenCreate,
    status: 201,
    answer: EmbedToken,
    refusals: ['not_found', 'origin_not_allowed', 'live_credential_required'],
    handle: async (deps, call) => ({
      body: await mintEmbedToken(deps, call.principal, call.body, call.deadline, tenant =>
        meetEmbedTenant(deps, call.db, call.principal, tenant),
      ),
    }),
  }),
  embedRoute('GET', '/v1/embed/session', {
    operation: 'getEmbedSession',
    summary: 'Get the embed session',
    description:
      'Returns what a widget draws: the tenant and project of the token, what it allows, the scopes to offer for a new key, when it expires, and the theme.',
    scope: null,
    answer: EmbedSession,
    handle: async (_deps, { db, principal }) => ({ body: await readSession(db, principal) }),
  }),
  embedRoute('GET', '/v1/embed/keys', {
    operation: 'listEmbedKeys',
    summary: "List the tenant's keys",
    description:
      "Returns the tenant's keys in the project and environment of the token, newest first. With the `ETag` of an earlier answer in `If-None-Match`, the answer is 304 while nothing has changed.",
    scope: 'keys:read',
    query: EmbedKeyList,
    answer: EmbedKeys,
    conditional: true,
    handle: async (deps, { db, principal, query, header }) =>
      taggedBody(await listEmbedKeys(deps, db, principal, query), header('if-none-match')),
  }),
  embedRoute('POST', '/v1/embed/keys', {
    operation: 'createEmbedKey',
    summary: 'Create a key',
    description: 'Issues a key with scopes that the token grants. The key is shown once.',
    scope: 'keys:write',
    body: EmbedKeyCreate,
    status: 201,
    answer: CreatedEmbedKey,
    refusals: ['not_found', 'key_limit_reached'],
    handle: async (deps, { db, principal, body }) => ({
      body: await createEmbedKey(deps, db, principal, body),
    }),
  }),
  embedRoute('POST', '/v1/embed/keys/:id/rotate', {
    operation: 'rotateEmbedKey',
    summary: 'Rotate a key',
    description:
      'Issues a successor with the same settings. The old key keeps working until the overlap ends.',
    scope: 'keys:write',
    body: RotateBody,
    answer: RotatedEmbedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
    handle: async (deps, { db, principal, id, body }) => ({
      body: await rotateEmbedKey(deps, db, principal, id, body.overlap_hours ?? overlapHoursDefault),
    }),
  }),
  embedRoute('POST', '/v1/embed/keys/:id/revoke', {
    operation: 'revokeEmbedKey',
    summary: 'Revoke a key',
    description: 'Revokes the key for good. Repeating the call changes nothing.',
    scope: 'keys:write',
    body: RevokeBody,
    answer: EmbedKey,
    endsRights: true,
    target: 'api_key',
    handle: async (deps, { db, principal, id, body }) => ({
      body: await revokeEmbedKey(deps, db, principal, id, body.reason ?? null),
    }),
  }),
  embedRoute('GET', '/v1/embed/keys/:id/usage', {
    operation: 'getEmbedKeyUsage',
    summary: "Get a key's usage",
    description: 'Returns how often the key was used, by day.',
    scope: 'keys:read',
    query: KeyUsageQuery,
    answer: KeyUsage,
    handle: async (_, { db, principal, id, query }) => ({
      body: await getEmbedKeyUsage(db, principal, id, query.days),
    }),
  }),
  ...['', '/v1'].map(prefix =>
    openRoute('GET', `${prefix}/.well-known/jwks.json`, {
      operation: prefix === '' ? 'jwks' : 'jwksV1',
      summary: 'Get the embed signing keys',
      description: 'Returns the public keys that verify embed tokens, as a JWK Set (RFC 7517).',
      answer: Jwks,
      refusals: ['unavailable'],
      handle: async ({ embedTokens }) => ({ body: await embedTokens.published(), headers: publicHeaders }),
    }),
  ),
]
