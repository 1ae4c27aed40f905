import { endpoint } from './endpoint.ts'

export const listTenants = endpoint('GET /v1/tenants')
export const createTenant = endpoint('POST /v1/tenants')
export const getTenant = endpoint('GET /v1/tenants/:id')
export const updateTenant = endpoint('PATCH /v1/tenants/:id')
export const suspendTenant = endpoint('POST /v1/tenants/:id/suspend')
export const resumeTenant = endpoint('POST /v1/tenants/:id/resume')
export const deleteTenant = endpoint('DELETE /v1/tenants/:id')
export const endEmbedSessions = endpoint('POST /v1/tenants/:id/embed_tokens/revoke')
