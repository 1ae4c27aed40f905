import { keyRoutes } from '@keyrail/contract/routes/keys'
import { overlapHoursDefault } from '@keyrail/contract/shared'
import { editors, owners, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { getKey, listKeysPage, revokeKey, updateKeyFields } from './actions.ts'
import { changeKeys, countMatches, getBulk } from './bulk.ts'
import { deleteEnded } from './delete-ended.ts'
import { identifyKey } from './identify.ts'
import { createKey, rotateKey } from './issue.ts'
import type { KeyNeeds } from './needs.ts'
import { disableKey, enableKey } from './pause.ts'

const serve = servedWith<KeyNeeds>()

export const routes = serve(keyRoutes, {
  'POST /v1/keys': {
    access: withinProjects(editors),
    handle: (deps, { db, principal, body, replay }) => createKey({ deps, db, principal }, body, replay),
  },
  'GET /v1/keys': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, query }) => ({
      body: await listKeysPage({ deps, db, principal }, query),
    }),
  },
  'POST /v1/keys/identify': {
    access: withinProjects(editors),
    handle: async (deps, { db, principal, body }) => ({
      body: await identifyKey({ deps, db, principal }, body.key),
    }),
  },
  'DELETE /v1/keys/ended': {
    access: owners,
    handle: async (deps, { db, principal, query }) => ({
      body: await deleteEnded({ deps, db, principal }, query),
    }),
  },
  'POST /v1/keys/count': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, body }) => ({
      body: await countMatches({ deps, db, principal }, body),
    }),
  },
  'POST /v1/keys/revoke': {
    access: withinProjects(editors),
    endsRights: true,
    handle: (deps, { db, principal, query, body, replay, hangUp }) =>
      changeKeys({ deps, db, principal }, 'revoke', body, replay, query.wait === 'true' ? hangUp() : null),
  },
  'POST /v1/keys/disable': {
    access: withinProjects(editors),
    handle: (deps, { db, principal, query, body, replay, hangUp }) =>
      changeKeys({ deps, db, principal }, 'disable', body, replay, query.wait === 'true' ? hangUp() : null),
  },
  'POST /v1/keys/enable': {
    access: withinProjects(editors),
    handle: (deps, { db, principal, query, body, replay, hangUp }) =>
      changeKeys({ deps, db, principal }, 'enable', body, replay, query.wait === 'true' ? hangUp() : null),
  },
  'GET /v1/keys/bulk/:id': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id }) => ({ body: await getBulk(db, principal, id) }),
  },
  'GET /v1/keys/:id': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id }) => ({ body: await getKey(db, principal, id) }),
  },
  'PATCH /v1/keys/:id': {
    access: withinProjects(editors),
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateKeyFields({ deps, db, principal }, id, body),
    }),
  },
  'POST /v1/keys/:id/rotate': {
    access: withinProjects(editors),
    handle: (deps, { db, principal, id, body, replay }) =>
      rotateKey({ deps, db, principal }, id, body.overlap_hours ?? overlapHoursDefault, replay),
  },
  'POST /v1/keys/:id/revoke': {
    access: withinProjects(editors),
    endsRights: true,
    target: 'api_key',
    handle: async (deps, { db, principal, id, query, body, hangUp }) => ({
      body: await revokeKey(
        { deps, db, principal },
        id,
        body.reason ?? null,
        query.wait === 'true' ? hangUp() : null,
      ),
    }),
  },
  'POST /v1/keys/:id/disable': {
    access: withinProjects(editors),
    target: 'api_key',
    handle: async (deps, { db, principal, id, query, body, hangUp }) => ({
      body: await disableKey(
        { deps, db, principal },
        id,
        body.reason ?? null,
        query.wait === 'true' ? hangUp() : null,
      ),
    }),
  },
  'POST /v1/keys/:id/enable': {
    access: withinProjects(editors),
    target: 'api_key',
    handle: async (deps, { db, principal, id, query, hangUp }) => ({
      body: await enableKey({ deps, db, principal }, id, query.wait === 'true' ? hangUp() : null),
    }),
  },
})
