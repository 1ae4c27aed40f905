import { securityEventRoutes } from '@keyrail/contract/routes/security-events'
import { owners } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { listOwnSecurityEvents, listSecurityEvents } from './actions.ts'
import type { SecurityEventNeeds } from './needs.ts'

const serve = servedWith<SecurityEventNeeds>()

export const routes = serve(securityEventRoutes, {
  'GET /v1/security_events': {
    access: owners,
    handle: async (deps, { db, principal, query }) => ({
      body: await listSecurityEvents({ deps, db, principal }, query),
    }),
  },
  'GET /v1/auth/security_events': {
    handle: async (deps, { db, principal, query }) => ({
      body: await listOwnSecurityEvents({ deps, db, principal }, query),
    }),
  },
})
