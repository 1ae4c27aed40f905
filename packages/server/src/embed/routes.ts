import { embedRoutes } from '@keyrail/contract/routes/embed'
import { overlapHoursDefault } from '@keyrail/contract/shared'
import { backends, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { jwksMaxAgeS } from '../platform/db/sealed/signing-keys.ts'
import { taggedBody } from '../platform/http/tagged-body.ts'
import {
  createEmbedKey,
  disableEmbedKey,
  enableEmbedKey,
  getEmbedKeyUsage,
  listEmbedKeys,
  meetEmbedTenant,
  revokeEmbedKey,
  rotateEmbedKey,
  updateEmbedKey,
} from './actions.ts'
import { mintEmbedToken } from './mint.ts'
import type { EmbedNeeds } from './needs.ts'
import { readSession } from './session.ts'
import { updateEmbedTenant } from './tenant.ts'

const serve = servedWith<EmbedNeeds>()

/** Any client and any page may read it: it has public keys only. */
const publicHeaders = {
  'cache-control': `public, max-age=${jwksMaxAgeS}`,
  'access-control-allow-origin': '*',
}

const publishedKeys = {
  async handle({ embedTokens }: EmbedNeeds) {
    return { body: await embedTokens.published(), headers: publicHeaders }
  },
}

export const routes = serve(embedRoutes, {
  'POST /v1/embed_tokens': {
    access: withinProjects(backends),
    handle: async (deps, call) => ({
      body: await mintEmbedToken(deps, call.principal, call.body, call.deadline, tenant =>
        meetEmbedTenant({ deps, db: call.db, principal: call.principal }, tenant),
      ),
    }),
  },
  'GET /v1/embed/session': {
    handle: async (_deps, { db, principal }) => ({ body: await readSession(db, principal) }),
  },
  'PATCH /v1/embed/tenant': {
    handle: async (deps, { db, principal, body }) => ({
      body: await updateEmbedTenant({ deps, db, principal }, body),
    }),
  },
  'GET /v1/embed/keys': {
    handle: async (deps, { db, principal, query, header }) =>
      taggedBody(await listEmbedKeys({ deps, db, principal }, query), header('if-none-match')),
  },
  'POST /v1/embed/keys': {
    handle: async (deps, { db, principal, body }) => ({
      body: await createEmbedKey({ deps, db, principal }, body),
    }),
  },
  'PATCH /v1/embed/keys/:id': {
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateEmbedKey({ deps, db, principal }, id, body),
    }),
  },
  'POST /v1/embed/keys/:id/rotate': {
    handle: async (deps, { db, principal, id, body }) => ({
      body: await rotateEmbedKey({ deps, db, principal }, id, body.overlap_hours ?? overlapHoursDefault),
    }),
  },
  'POST /v1/embed/keys/:id/revoke': {
    endsRights: true,
    target: 'api_key',
    handle: async (deps, { db, principal, id, body }) => ({
      body: await revokeEmbedKey({ deps, db, principal }, id, body.reason ?? null),
    }),
  },
  'POST /v1/embed/keys/:id/disable': {
    target: 'api_key',
    handle: async (deps, { db, principal, id, body }) => ({
      body: await disableEmbedKey({ deps, db, principal }, id, body.reason ?? null),
    }),
  },
  'POST /v1/embed/keys/:id/enable': {
    target: 'api_key',
    handle: async (deps, { db, principal, id }) => ({
      body: await enableEmbedKey({ deps, db, principal }, id),
    }),
  },
  'GET /v1/embed/keys/:id/usage': {
    handle: async (_, { db, principal, id, query }) => ({
      body: await getEmbedKeyUsage(db, principal, id, query.days),
    }),
  },
  'GET /.well-known/jwks.json': publishedKeys,
  'GET /v1/.well-known/jwks.json': publishedKeys,
})
