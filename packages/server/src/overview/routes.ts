/** The state of a workspace in one answer. `sql.ts` bounds what each figure reads. */

import { Overview, OverviewQuery } from '@keyrail/contract/vendor/overview'
import { liveReaders } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { getOverview } from './actions.ts'

const { vendorRoute } = routesFor<unknown>()

export const overviewRoutes: Route<unknown>[] = [
  vendorRoute('GET', '/v1/overview', {
    operation: 'getOverview',
    summary: 'Get the overview',
    description:
      'Returns the state of the workspace: active keys, requests, nodes, billable tenants, and what needs attention. A count that stops says so in `capped`.',
    access: liveReaders('overview:read'),
    query: OverviewQuery,
    answer: Overview,
    handle: async (_, { db, principal, query }) => ({ body: await getOverview(db, principal, query) }),
  }),
]
