import { secretKeyRoutes } from '@keyrail/contract/routes/secret-keys'
import { overlapHoursDefault } from '@keyrail/contract/shared'
import { editors, owners, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { createSecretKey, getSecretKey, listSecretKeys, revokeSecretKey, rotateSecretKey } from './actions.ts'
import { deleteEnded } from './delete-ended.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { updateSecretKey } from './update.ts'

const serve = servedWith<SecretKeyNeeds>()

export const routes = serve(secretKeyRoutes, {
  'POST /v1/secret_keys': {
    access: withinProjects(editors),
    handle: (deps, { db, principal, body, replay, client }) =>
      createSecretKey({ deps, db, principal }, body, replay, client),
  },
  'GET /v1/secret_keys': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, query }) => ({
      body: await listSecretKeys({ deps, db, principal }, query),
    }),
  },
  'DELETE /v1/secret_keys/ended': {
    access: owners,
    handle: async (deps, { db, principal, query }) => ({
      body: await deleteEnded({ deps, db, principal }, query),
    }),
  },
  'GET /v1/secret_keys/:id': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id }) => ({ body: await getSecretKey(db, principal, id) }),
  },
  'PATCH /v1/secret_keys/:id': {
    access: withinProjects(editors),
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateSecretKey({ deps, db, principal }, id, body),
    }),
  },
  'POST /v1/secret_keys/:id/rotate': {
    access: withinProjects(editors),
    target: 'secret_key',
    handle: (deps, { db, principal, id, body, replay, client }) =>
      rotateSecretKey({ deps, db, principal }, id, body.overlap_hours ?? overlapHoursDefault, replay, client),
  },
  'POST /v1/secret_keys/:id/revoke': {
    access: withinProjects(editors),
    endsRights: true,
    target: 'secret_key',
    handle: async (deps, { db, principal, id, body }) => ({
      body: await revokeSecretKey({ deps, db, principal }, id, body),
    }),
  },
})
