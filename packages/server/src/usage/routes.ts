import { TakenUsageReport, UsageReport } from '@keyrail/contract/usage'
import {
  BillingUsage,
  BillingUsageQuery,
  KeyUsage,
  KeyUsageQuery,
  TenantUsageQuery,
  TenantUsages,
} from '@keyrail/contract/vendor/usage'
import { liveReaders, nodes, readers, withinProjects } from '../gate/access.ts'
import { type Route, reportRoute, vendorRoute } from '../gate/route.ts'
import { getBillingUsage, getKeyUsage, listTenantUsage, reportUsage } from './actions.ts'

/** 1 MiB: a thousand records, however they are written. */
const reportBytesMax = 1_048_576

export const usageRoutes: Route[] = [
  reportRoute('/v1/usage/reports', {
    operation: 'reportUsage',
    summary: 'Report what your servers have counted, by key and hour; applied once',
    access: withinProjects(nodes('usage:report')),
    bodyLimit: reportBytesMax,
    body: UsageReport,
    status: 202,
    answer: TakenUsageReport,
    handle: async (deps, call) => ({ body: await reportUsage(deps, call) }),
  }),
  vendorRoute('GET', '/v1/keys/:id/usage', {
    operation: 'getKeyUsage',
    summary: 'Read how often a key was used, by day',
    access: withinProjects(readers('usage:read')),
    query: KeyUsageQuery,
    answer: KeyUsage,
    handle: async (deps, { principal, id, query }) => ({
      body: await getKeyUsage(deps, principal, id, query.days),
    }),
  }),
  vendorRoute('GET', '/v1/usage/billing', {
    operation: 'getBillingUsage',
    summary: 'Read how many tenants made live requests, by month',
    access: liveReaders('usage:read'),
    query: BillingUsageQuery,
    answer: BillingUsage,
    handle: async (deps, { principal, query }) => ({
      body: await getBillingUsage(deps, principal, query.months),
    }),
  }),
  vendorRoute('GET', '/v1/usage/tenants', {
    operation: 'listTenantUsage',
    summary: 'List how much tenants used each project, this month first',
    access: liveReaders('usage:read'),
    query: TenantUsageQuery,
    answer: TenantUsages,
    handle: async (deps, { principal, query }) => ({ body: await listTenantUsage(deps, principal, query) }),
  }),
]
