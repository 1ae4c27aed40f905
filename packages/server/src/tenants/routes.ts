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
import { type Route, vendorRoute } from '../gate/route.ts'
import {
  createTenant,
  deleteTenant,
  getTenant,
  listTenants,
  revokeEmbedTokens,
  updateTenant,
} from './actions.ts'

export const tenantRoutes: Route[] = [
  vendorRoute('POST', '/v1/tenants', {
    operation: 'createTenant',
    summary: 'Create a tenant: one customer organisation of yours',
    access: withinProjects(liveEditors('tenants:write')),
    body: TenantCreate,
    status: 201,
    answer: Tenant,
    refusals: ['external_id_taken'],
    replayable: true,
    handle: (deps, { principal, body, replay }) => createTenant(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/tenants', {
    operation: 'listTenants',
    summary: 'List tenants, newest first',
    access: withinProjects(readers('tenants:read')),
    query: TenantList,
    answer: Tenants,
    handle: async (deps, { principal, query }) => ({ body: await listTenants(deps, principal, query) }),
  }),
  vendorRoute('GET', '/v1/tenants/:id', {
    operation: 'getTenant',
    summary: 'Read a tenant',
    access: withinProjects(readers('tenants:read')),
    answer: Tenant,
    handle: async (deps, { principal, id }) => ({ body: await getTenant(deps, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/tenants/:id', {
    operation: 'updateTenant',
    summary: 'Change a tenant',
    access: liveEditors('tenants:write'),
    body: TenantUpdate,
    answer: Tenant,
    handle: async (deps, { principal, id, body }) => ({
      body: await updateTenant(deps, principal, id, body),
    }),
  }),
  vendorRoute('POST', '/v1/tenants/:id/embed_tokens/revoke', {
    operation: 'revokeEmbedTokens',
    summary: 'End every embed token that is out for a tenant',
    access: liveEditors('tenants:write'),
    body: NoBody,
    answer: EmbedTokensRevoked,
    handle: async (deps, { principal, id }) => ({ body: await revokeEmbedTokens(deps, principal, id) }),
  }),
  vendorRoute('DELETE', '/v1/tenants/:id', {
    operation: 'deleteTenant',
    summary: 'Delete a tenant and revoke every key it holds',
    access: liveEditors('tenants:write'),
    answer: DeletedTenant,
    handle: async (deps, { principal, id }) => ({ body: await deleteTenant(deps, principal, id) }),
  }),
]
