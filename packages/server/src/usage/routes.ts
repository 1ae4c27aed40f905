import { usageRoutes } from '@keyrail/contract/routes/usage'
import { liveReaders, nodes, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import {
  getBillingUsage,
  getDailyUsage,
  getKeyUsage,
  getTopUsage,
  listTenantUsage,
  reportUsage,
} from './actions.ts'
import type { UsageNeeds } from './needs.ts'
import { getRefusals, reportRefusals } from './refusals.ts'

const serve = servedWith<UsageNeeds>()

/** 1 MiB: a thousand records in any valid spelling. */
const reportBytesMax = 1_048_576

export const routes = serve(usageRoutes, {
  'POST /v1/usage/reports': {
    access: withinProjects(nodes),
    bodyLimit: reportBytesMax,
    handle: async (deps, call) => ({ body: await reportUsage(deps, call) }),
  },
  'POST /v1/usage/refusals': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await reportRefusals(deps, call) }),
  },
  'GET /v1/keys/:id/usage': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id, query }) => ({
      body: await getKeyUsage(db, principal, id, query.days),
    }),
  },
  'GET /v1/usage/daily': {
    access: readers,
    handle: async (_, { db, principal, query }) => ({ body: await getDailyUsage(db, principal, query) }),
  },
  'GET /v1/usage/top': {
    // Keys come with their names, which `usage:read` alone does not show.
    access: liveReaders,
    handle: async (_, { db, principal, query }) => ({ body: await getTopUsage(db, principal, query) }),
  },
  'GET /v1/usage/refusals': {
    access: readers,
    handle: async (_, { db, principal, query }) => ({ body: await getRefusals(db, principal, query) }),
  },
  'GET /v1/usage/billing': {
    access: liveReaders,
    handle: async (_, { db, principal, query }) => ({
      body: await getBillingUsage(db, principal, query.months),
    }),
  },
  'GET /v1/usage/tenants': {
    access: liveReaders,
    handle: async (deps, { db, principal, query }) => ({
      body: await listTenantUsage({ deps, db, principal }, query),
    }),
  },
})
