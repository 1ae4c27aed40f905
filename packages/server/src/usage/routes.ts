/**
 * Usage of keys. `reports.ts` is the lane that adds each report once, with the statements of `statements.ts`;
 * `key-usage.ts` and `figures.ts` are what other rooms may show of a key and of the workspace.
 */

import { TakenUsageReport, UsageReport } from '@keyrail/contract/usage'
import {
  BillingUsage,
  BillingUsageQuery,
  DailyUsage,
  DailyUsageQuery,
  KeyUsage,
  KeyUsageQuery,
  TenantUsageQuery,
  TenantUsages,
  TopUsage,
  TopUsageQuery,
} from '@keyrail/contract/vendor/usage'
import { liveReaders, nodes, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import {
  getBillingUsage,
  getDailyUsage,
  getKeyUsage,
  getTopUsage,
  listTenantUsage,
  reportUsage,
} from './actions.ts'
import type { UsageNeeds } from './needs.ts'

const { reportRoute, vendorRoute } = routesFor<UsageNeeds>()

/** 1 MiB: a thousand records in any valid spelling. */
const reportBytesMax = 1_048_576

export const usageRoutes: Route<UsageNeeds>[] = [
  reportRoute('/v1/usage/reports', {
    operation: 'reportUsage',
    summary: 'Report usage',
    description:
      'Adds the request counts of your servers by key and hour. A report is applied once, however often it is sent.',
    access: withinProjects(nodes('usage:report')),
    bodyLimit: reportBytesMax,
    body: UsageReport,
    status: 202,
    answer: TakenUsageReport,
    handle: async (deps, call) => ({ body: await reportUsage(deps, call) }),
  }),
  vendorRoute('GET', '/v1/keys/:id/usage', {
    operation: 'getKeyUsage',
    summary: "Get a key's usage",
    description: 'Returns how often the key was used, by day.',
    access: withinProjects(readers('usage:read')),
    query: KeyUsageQuery,
    answer: KeyUsage,
    handle: async (_, { db, principal, id, query }) => ({
      body: await getKeyUsage(db, principal, id, query.days),
    }),
  }),
  vendorRoute('GET', '/v1/usage/daily', {
    operation: 'getDailyUsage',
    summary: 'Get daily usage',
    description:
      'Returns the requests of the workspace by day, or those of a project, a tenant, or a tenant in a project.',
    access: readers('usage:read'),
    query: DailyUsageQuery,
    answer: DailyUsage,
    handle: async (_, { db, principal, query }) => ({ body: await getDailyUsage(db, principal, query) }),
  }),
  vendorRoute('GET', '/v1/usage/top', {
    operation: 'getTopUsage',
    summary: 'Get the most used',
    description: 'Returns the tenants, projects or keys with the most requests of the last days.',
    // Keys come with their names, which `usage:read` alone does not show.
    access: liveReaders('overview:read'),
    query: TopUsageQuery,
    answer: TopUsage,
    handle: async (_, { db, principal, query }) => ({ body: await getTopUsage(db, principal, query) }),
  }),
  vendorRoute('GET', '/v1/usage/billing', {
    operation: 'getBillingUsage',
    summary: 'Get billable tenants',
    description: 'Returns the number of tenants that made live requests, by month.',
    access: liveReaders('usage:read'),
    query: BillingUsageQuery,
    answer: BillingUsage,
    handle: async (_, { db, principal, query }) => ({
      body: await getBillingUsage(db, principal, query.months),
    }),
  }),
  vendorRoute('GET', '/v1/usage/tenants', {
    operation: 'listTenantUsage',
    summary: "List tenants' usage",
    description:
      'Returns the requests of each tenant in each project by month, the last month of the span first.',
    access: liveReaders('usage:read'),
    query: TenantUsageQuery,
    answer: TenantUsages,
    handle: async (deps, { db, principal, query }) => ({
      body: await listTenantUsage(deps, db, principal, query),
    }),
  }),
]
