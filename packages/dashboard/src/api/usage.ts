import type {
  BillingUsage,
  BillingUsageQuery,
  DailyUsage,
  DailyUsageQuery,
  TenantUsageQuery,
  TenantUsages,
  TopUsage,
  TopUsageQuery,
} from '@keyrail/contract/vendor/usage'
import { endpoint } from './endpoint.ts'

export const getDailyUsage = endpoint<{ query: DailyUsageQuery; answer: DailyUsage }>(
  'GET',
  '/v1/usage/daily',
)
export const getBillingUsage = endpoint<{ query: BillingUsageQuery; answer: BillingUsage }>(
  'GET',
  '/v1/usage/billing',
)
export const listTenantUsage = endpoint<{ query: TenantUsageQuery; answer: TenantUsages }>(
  'GET',
  '/v1/usage/tenants',
)
export const getTopUsage = endpoint<{ query: TopUsageQuery; answer: TopUsage }>('GET', '/v1/usage/top')
