import { RefusalReport, TakenRefusalReport, TakenUsageReport, UsageReport } from '../usage.ts'
import {
  BillingUsage,
  BillingUsageQuery,
  DailyUsage,
  DailyUsageQuery,
  KeyUsage,
  KeyUsageQuery,
  Refusals,
  RefusalsQuery,
  TenantUsageQuery,
  TenantUsages,
  TopUsage,
  TopUsageQuery,
} from '../vendor/usage.ts'
import { declareRoutes } from './declare.ts'

export const usageRoutes = declareRoutes({
  'POST /v1/usage/reports': {
    plane: 'report',
    operation: 'reportUsage',
    summary: 'Report usage',
    description:
      'Adds the request counts of your servers by key and hour. A report is applied once, however often it is sent.',
    permission: 'usage:report',
    body: UsageReport,
    status: 202,
    answer: TakenUsageReport,
  },
  'POST /v1/usage/refusals': {
    plane: 'report',
    operation: 'reportRefusals',
    summary: 'Report refusals',
    description:
      'Adds the counts of requests that your servers refused, by reason and hour. A report is applied once, however often it is sent.',
    permission: 'usage:report',
    body: RefusalReport,
    status: 202,
    answer: TakenRefusalReport,
    refusals: ['not_found'],
  },
  'GET /v1/keys/:id/usage': {
    plane: 'vendor',
    operation: 'getKeyUsage',
    summary: "Get a key's usage",
    description: 'Returns how often the key was used, by day.',
    permission: 'usage:read',
    query: KeyUsageQuery,
    answer: KeyUsage,
  },
  'GET /v1/usage/daily': {
    plane: 'vendor',
    operation: 'getDailyUsage',
    summary: 'Get daily usage',
    description:
      'Returns the requests of the workspace by day, or those of a project, a tenant, or a tenant in a project.',
    permission: 'usage:read',
    query: DailyUsageQuery,
    answer: DailyUsage,
  },
  'GET /v1/usage/top': {
    plane: 'vendor',
    operation: 'getTopUsage',
    summary: 'Get the most used',
    description: 'Returns the tenants, projects or keys with the most requests of the last days.',
    permission: 'overview:read',
    query: TopUsageQuery,
    answer: TopUsage,
  },
  'GET /v1/usage/refusals': {
    plane: 'vendor',
    operation: 'getRefusals',
    summary: 'Get refusals',
    description:
      'Returns how many requests your servers refused in the last days, by reason, in the workspace or a project.',
    permission: 'usage:read',
    query: RefusalsQuery,
    answer: Refusals,
  },
  'GET /v1/usage/billing': {
    plane: 'vendor',
    operation: 'getBillingUsage',
    summary: 'Get billable tenants',
    description: 'Returns the number of tenants that made live requests, by month.',
    permission: 'usage:read',
    query: BillingUsageQuery,
    answer: BillingUsage,
  },
  'GET /v1/usage/tenants': {
    plane: 'vendor',
    operation: 'listTenantUsage',
    summary: "List tenants' usage",
    description:
      'Returns the requests of each tenant in each project by month, the last month of the span first.',
    permission: 'usage:read',
    query: TenantUsageQuery,
    answer: TenantUsages,
  },
})
