/**
 * Refused credentials, new devices and changed accounts. `record.ts` writes inside a transaction, `writer.ts` and
 * `tally.ts` beside requests; `watch.ts` sees refusals, and `owners.ts` writes to owners.
 */

import { OwnSecurityEventList, SecurityEventList, SecurityEvents } from '@keyrail/contract/security-events'
import { owners } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { listOwnSecurityEvents, listSecurityEvents } from './actions.ts'
import type { SecurityEventNeeds } from './needs.ts'

const { personRoute, vendorRoute } = routesFor<SecurityEventNeeds>()

export const securityEventRoutes: Route<SecurityEventNeeds>[] = [
  vendorRoute('GET', '/v1/security_events', {
    operation: 'listSecurityEvents',
    summary: 'List security events',
    description:
      'Returns security events of the workspace and its members, newest first. Events are kept for 90 days.',
    access: owners('audit:read'),
    query: SecurityEventList,
    answer: SecurityEvents,
    handle: async (deps, { db, principal, query }) => ({
      body: await listSecurityEvents(deps, db, principal, query),
    }),
  }),
  personRoute('GET', '/v1/auth/security_events', {
    operation: 'listOwnSecurityEvents',
    summary: 'List own security events',
    description:
      'Returns security events of the signed-in person, newest first. Events are kept for 90 days.',
    query: OwnSecurityEventList,
    answer: SecurityEvents,
    handle: async (deps, { db, principal, query }) => ({
      body: await listOwnSecurityEvents(deps, db, principal, query),
    }),
  }),
]
