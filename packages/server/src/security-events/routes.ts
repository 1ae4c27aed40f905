import { OwnSecurityEventList, SecurityEventList, SecurityEvents } from '@keyrail/contract/security-events'
import { owners } from '../gate/access.ts'
import { personRoute, type Route, vendorRoute } from '../gate/route.ts'
import { listOwnSecurityEvents, listSecurityEvents } from './actions.ts'

export const securityEventRoutes: Route[] = [
  vendorRoute('GET', '/v1/security_events', {
    operation: 'listSecurityEvents',
    summary: 'List security events of the workspace and its members, newest first',
    access: owners('audit:read'),
    query: SecurityEventList,
    answer: SecurityEvents,
    handle: async (deps, { principal, query }) => ({
      body: await listSecurityEvents(deps, principal, query),
    }),
  }),
  personRoute('GET', '/v1/auth/security_events', {
    operation: 'listOwnSecurityEvents',
    summary: 'List security events of the signed-in person, newest first',
    query: OwnSecurityEventList,
    answer: SecurityEvents,
    handle: async (deps, { principal, query }) => ({
      body: await listOwnSecurityEvents(deps, principal, query),
    }),
  }),
]
