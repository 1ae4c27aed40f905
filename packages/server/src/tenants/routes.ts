import { NoBody } from '@keyrail/contract/shared'
import {
  DeletedTenant,
  EmbedTokensRevoked,
  Tenant,
  TenantCreate,
  TenantList,
  Tenants,
  TenantUpdate,
} from '@keyrail/contract/vendor/tenants'
import { liveEditors, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import {
  createTenant,
  deleteTenant,
  getTenant,
  listTenants,
  revokeEmbedTokens,
  updateTenant,
} from './actions.ts'
import type { TenantNeeds } from './needs.ts'

const { vendorRoute } = routesFor<TenantNeeds>()

export const tenantRoutes: Route<TenantNeeds>[] = [
  vendorRoute('POST', '/v1/tenants', {
    operation: 'createTenant',
    summary: 'Create a tenant',
    description: 'Creates a tenant, which is one of your customers. Keys are issued to tenants.',
    access: withinProjects(liveEditors('tenants:write')),
    body: TenantCreate,
    status: 201,
    answer: Tenant,
    refusals: ['external_id_taken'],
    replayable: true,
    handle: (deps, { db, principal, body, replay }) => createTenant(deps, db, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/tenants', {
    operation: 'listTenants',
    summary: 'List tenants',
    description: 'Returns tenants, newest first.',
    access: withinProjects(readers('tenants:read')),
    query: TenantList,
    answer: Tenants,
    handle: async (deps, { db, principal, query }) => ({
      body: await listTenants(deps, db, principal, query),
    }),
  }),
  vendorRoute('GET', '/v1/tenants/:id', {
    operation: 'getTenant',
    summary: 'Get a tenant',
    description: 'Returns a tenant by its id.',
    access: withinProjects(readers('tenants:read')),
    answer: Tenant,
    handle: async (_, { db, principal, id }) => ({ body: await getTenant(db, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/tenants/:id', {
    operation: 'updateTenant',
    summary: 'Update a tenant',
    description: 'Replaces the fields that the body names.',
    access: liveEditors('tenants:write'),
    body: TenantUpdate,
    answer: Tenant,
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateTenant(deps, db, principal, id, body),
    }),
  }),
  vendorRoute('POST', '/v1/tenants/:id/embed_tokens/revoke', {
    operation: 'revokeEmbedTokens',
    summary: "Revoke a tenant's embed tokens",
    description: 'Ends every embed token that was issued for the tenant. New ones can be issued at once.',
    access: liveEditors('tenants:write'),
    body: NoBody,
    answer: EmbedTokensRevoked,
    endsRights: true,
    target: 'tenant',
    handle: async (deps, { db, principal, id }) => ({
      body: await revokeEmbedTokens(deps, db, principal, id),
    }),
  }),
  vendorRoute('DELETE', '/v1/tenants/:id', {
    operation: 'deleteTenant',
    summary: 'Delete a tenant',
    description:
      'Deletes the tenant, revokes all of its keys and ends its embed tokens. Its `external_id` is free again.',
    access: liveEditors('tenants:write'),
    answer: DeletedTenant,
    target: 'tenant',
    handle: async (deps, { db, principal, id }) => ({ body: await deleteTenant(deps, db, principal, id) }),
  }),
]
