import { endpoint } from './endpoint.ts'

export const getDailyUsage = endpoint('GET /v1/usage/daily')
export const getBillingUsage = endpoint('GET /v1/usage/billing')
export const listTenantUsage = endpoint('GET /v1/usage/tenants')
export const getTopUsage = endpoint('GET /v1/usage/top')
export const getRefusals = endpoint('GET /v1/usage/refusals')
