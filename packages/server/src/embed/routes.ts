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
import { RevokeBody, RotateBody } from '@keyrail/contract/shared'
import { KeyUsage, KeyUsageQuery } from '@keyrail/contract/vendor/usage'
import { backends, withinProjects } from '../gate/access.ts'
import { embedRoute, openRoute, type Route, vendorRoute } from '../gate/route.ts'
import { jwksMaxAgeS } from '../platform/db/signing-keys.ts'
import { createEmbedKey, getEmbedKeyUsage, listEmbedKeys, revokeEmbedKey, rotateEmbedKey } from './actions.ts'
import { mintEmbedToken } from './mint.ts'
import { toSession } from './session.ts'

/** Anybody may read it, a page of any origin too: there is nothing in it but public keys. */
const publicHeaders = {
  'cache-control': `public, max-age=${jwksMaxAgeS}`,
  'access-control-allow-origin': '*',
}

export const embedRoutes: Route[] = [
  vendorRoute('POST', '/v1/embed_tokens', {
    operation: 'createEmbedToken',
    summary: 'Mint a token of five minutes, with which a browser of a tenant manages the tenant’s keys',
    access: withinProjects(backends('embed:mint')),
    body: EmbedTokenCreate,
    status: 201,
    answer: EmbedToken,
    refusals: ['not_found', 'origin_not_allowed'],
    handle: async (deps, { principal, body, until }) => ({
      body: await mintEmbedToken(deps, principal, body, until),
    }),
  }),
  embedRoute('GET', '/v1/embed/session', {
    operation: 'getEmbedSession',
    summary: 'Whose keys the token is for, what it may do, and until when',
    scope: null,
    answer: EmbedSession,
    handle: async (_deps, { principal }) => ({ body: toSession(principal.embed) }),
  }),
  embedRoute('GET', '/v1/embed/keys', {
    operation: 'listEmbedKeys',
    summary: 'List the tenant’s keys of this project and environment, newest first',
    scope: 'keys:read',
    query: EmbedKeyList,
    answer: EmbedKeys,
    handle: async (deps, { principal, query }) => ({ body: await listEmbedKeys(deps, principal, query) }),
  }),
  embedRoute('POST', '/v1/embed/keys', {
    operation: 'createEmbedKey',
    summary: 'Make a key, with scopes that the token grants',
    scope: 'keys:write',
    body: EmbedKeyCreate,
    status: 201,
    answer: CreatedEmbedKey,
    refusals: ['not_found', 'key_limit_reached'],
    handle: async (deps, { principal, body }) => ({ body: await createEmbedKey(deps, principal, body) }),
  }),
  embedRoute('POST', '/v1/embed/keys/:id/rotate', {
    operation: 'rotateEmbedKey',
    summary: 'Put a successor beside a key, which lives on for the overlap',
    scope: 'keys:write',
    body: RotateBody,
    answer: RotatedEmbedKey,
    refusals: ['key_not_active', 'key_limit_reached'],
    handle: async (deps, { principal, id, body }) => ({
      body: await rotateEmbedKey(deps, principal, id, body.overlap_hours ?? 24),
    }),
  }),
  embedRoute('POST', '/v1/embed/keys/:id/revoke', {
    operation: 'revokeEmbedKey',
    summary: 'End a key for good; repeating it changes nothing',
    scope: 'keys:write',
    body: RevokeBody,
    answer: EmbedKey,
    handle: async (deps, { principal, id, body }) => ({
      body: await revokeEmbedKey(deps, principal, id, body.reason ?? null),
    }),
  }),
  embedRoute('GET', '/v1/embed/keys/:id/usage', {
    operation: 'getEmbedKeyUsage',
    summary: 'Read how often a key was used, by day',
    scope: 'keys:read',
    query: KeyUsageQuery,
    answer: KeyUsage,
    handle: async (deps, { principal, id, query }) => ({
      body: await getEmbedKeyUsage(deps, principal, id, query.days ?? 30),
    }),
  }),
  ...['', '/v1'].map(prefix =>
    openRoute('GET', `${prefix}/.well-known/jwks.json`, {
      operation: prefix === '' ? 'jwks' : 'jwksV1',
      summary: 'The public keys that embed tokens are signed with',
      answer: Jwks,
      refusals: ['unavailable'],
      handle: async ({ embedTokens }) => ({ body: await embedTokens.published(), headers: publicHeaders }),
    }),
  ),
]
