import { tenantRoutes } from '@keyrail/contract/routes/tenants'
import { liveEditors, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import {
  createTenant,
  deleteTenant,
  getTenant,
  listTenants,
  revokeEmbedTokens,
  updateTenant,
} from './actions.ts'
import type { TenantNeeds } from './needs.ts'
import { resumeTenant, suspendTenant } from './suspend.ts'

const serve = servedWith<TenantNeeds>()

export const routes = serve(tenantRoutes, {
  'POST /v1/tenants': {
    access: withinProjects(liveEditors),
    handle: (deps, { db, principal, body, replay }) => createTenant({ deps, db, principal }, body, replay),
  },
  'GET /v1/tenants': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, query }) => ({
      body: await listTenants({ deps, db, principal }, query),
    }),
  },
  'GET /v1/tenants/:id': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id }) => ({ body: await getTenant(db, principal, id) }),
  },
  'PATCH /v1/tenants/:id': {
    access: liveEditors,
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateTenant({ deps, db, principal }, id, body),
    }),
  },
  'POST /v1/tenants/:id/suspend': {
    access: liveEditors,
    endsRights: true,
    target: 'tenant',
    handle: async (deps, { db, principal, id, query, body, hangUp }) => ({
      body: await suspendTenant(
        { deps, db, principal },
        id,
        body.reason ?? null,
        query.wait === 'true' ? hangUp() : null,
      ),
    }),
  },
  'POST /v1/tenants/:id/resume': {
    access: liveEditors,
    target: 'tenant',
    handle: async (deps, { db, principal, id, query, hangUp }) => ({
      body: await resumeTenant({ deps, db, principal }, id, query.wait === 'true' ? hangUp() : null),
    }),
  },
  'POST /v1/tenants/:id/embed_tokens/revoke': {
    access: liveEditors,
    endsRights: true,
    target: 'tenant',
    handle: async (deps, { db, principal, id }) => ({
      body: await revokeEmbedTokens({ deps, db, principal }, id),
    }),
  },
  'DELETE /v1/tenants/:id': {
    access: liveEditors,
    target: 'tenant',
    handle: async (deps, { db, principal, id }) => ({
      body: await deleteTenant({ deps, db, principal }, id),
    }),
  },
})
