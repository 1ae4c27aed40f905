import { OwnSecurityEventList, SecurityEventList, SecurityEvents } from '../security-events.ts'
import { declareRoutes } from './declare.ts'

export const securityEventRoutes = declareRoutes({
  'GET /v1/security_events': {
    plane: 'vendor',
    operation: 'listSecurityEvents',
    summary: 'List security events',
    description:
      'Returns security events of the workspace and its members, newest first. Events are kept for 90 days.',
    permission: 'audit:read',
    query: SecurityEventList,
    answer: SecurityEvents,
  },
  'GET /v1/auth/security_events': {
    plane: 'person',
    operation: 'listOwnSecurityEvents',
    summary: 'List own security events',
    description:
      'Returns security events of the signed-in person, newest first. Events are kept for 90 days.',
    query: OwnSecurityEventList,
    answer: SecurityEvents,
  },
})
