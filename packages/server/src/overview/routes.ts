import { overviewRoutes } from '@keyrail/contract/routes/overview'
import { liveReaders } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { getOverview } from './actions.ts'

const serve = servedWith<unknown>()

export const routes = serve(overviewRoutes, {
  'GET /v1/overview': {
    access: liveReaders,
    handle: async (_, { db, principal, query }) => ({ body: await getOverview(db, principal, query) }),
  },
})
