import { Overview, OverviewQuery } from '../vendor/overview.ts'
import { declareRoutes } from './declare.ts'

export const overviewRoutes = declareRoutes({
  'GET /v1/overview': {
    plane: 'vendor',
    operation: 'getOverview',
    summary: 'Get the overview',
    description:
      'Returns the state of the workspace: active keys, requests, nodes, billable tenants, and what needs attention. A count that stops says so in `capped`.',
    permission: 'overview:read',
    query: OverviewQuery,
    answer: Overview,
  },
})
