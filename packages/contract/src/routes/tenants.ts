import { NoBody, SuspendBody } from '../shared.ts'
import { RevokeQuery } from '../vendor/keys.ts'
import {
  DeletedTenant,
  EmbedTokensRevoked,
  SettledTenant,
  Tenant,
  TenantCreate,
  TenantList,
  Tenants,
  TenantUpdate,
} from '../vendor/tenants.ts'
import { declareRoutes } from './declare.ts'

export const tenantRoutes = declareRoutes({
  'POST /v1/tenants': {
    plane: 'vendor',
    operation: 'createTenant',
    summary: 'Create a tenant',
    description: 'Creates a tenant, which is one of your customers. Keys are issued to tenants.',
    permission: 'tenants:write',
    body: TenantCreate,
    status: 201,
    answer: Tenant,
    refusals: ['external_id_taken'],
    replayable: true,
  },
  'GET /v1/tenants': {
    plane: 'vendor',
    operation: 'listTenants',
    summary: 'List tenants',
    description: 'Returns tenants, newest first.',
    permission: 'tenants:read',
    query: TenantList,
    answer: Tenants,
  },
  'GET /v1/tenants/:id': {
    plane: 'vendor',
    operation: 'getTenant',
    summary: 'Get a tenant',
    description: 'Returns a tenant by its id.',
    permission: 'tenants:read',
    answer: Tenant,
  },
  'PATCH /v1/tenants/:id': {
    plane: 'vendor',
    operation: 'updateTenant',
    summary: 'Update a tenant',
    description: 'Replaces the fields that the body names.',
    permission: 'tenants:write',
    body: TenantUpdate,
    answer: Tenant,
  },
  'POST /v1/tenants/:id/suspend': {
    plane: 'vendor',
    operation: 'suspendTenant',
    summary: 'Suspend a tenant',
    description:
      'Your servers refuse all keys of the tenant until it is resumed; no key changes. Its embed tokens can read and not write. With `wait=true` the response waits until your servers have the change. Repeating the call changes nothing.',
    permission: 'tenants:write',
    query: RevokeQuery,
    body: SuspendBody,
    answer: SettledTenant,
  },
  'POST /v1/tenants/:id/resume': {
    plane: 'vendor',
    operation: 'resumeTenant',
    summary: 'Resume a suspended tenant',
    description:
      'Its keys are what they were before. With `wait=true` the response waits until your servers have the change. A tenant that is not suspended stays as it is.',
    permission: 'tenants:write',
    query: RevokeQuery,
    answer: SettledTenant,
  },
  'POST /v1/tenants/:id/embed_tokens/revoke': {
    plane: 'vendor',
    operation: 'revokeEmbedTokens',
    summary: "Revoke a tenant's embed tokens",
    description: 'Ends every embed token that was issued for the tenant. New ones can be issued at once.',
    permission: 'tenants:write',
    body: NoBody,
    answer: EmbedTokensRevoked,
  },
  'DELETE /v1/tenants/:id': {
    plane: 'vendor',
    operation: 'deleteTenant',
    summary: 'Delete a tenant',
    description:
      'Deletes the tenant, revokes all of its keys and ends its embed tokens. Its `external_id` is free again.',
    permission: 'tenants:write',
    answer: DeletedTenant,
    refusals: ['protected'],
  },
})
