import type {
  EmbedTokensRevoked,
  Tenant,
  TenantCreate,
  TenantList,
  Tenants,
  TenantUpdate,
} from '@keyrail/contract/vendor/tenants'
import { endpoint } from './endpoint.ts'

export const listTenants = endpoint<{ query: TenantList; answer: Tenants }>('GET', '/v1/tenants')
export const createTenant = endpoint<{ body: TenantCreate; answer: Tenant }>('POST', '/v1/tenants')
export const getTenant = endpoint<{ id: string; answer: Tenant }>('GET', '/v1/tenants/:id')
export const updateTenant = endpoint<{ id: string; body: TenantUpdate; answer: Tenant }>(
  'PATCH',
  '/v1/tenants/:id',
)
export const deleteTenant = endpoint<{ id: string; answer: unknown }>('DELETE', '/v1/tenants/:id')
export const endEmbedSessions = endpoint<{ id: string; answer: EmbedTokensRevoked }>(
  'POST',
  '/v1/tenants/:id/embed_tokens/revoke',
)
