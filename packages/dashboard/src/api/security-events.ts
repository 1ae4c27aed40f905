import type {
  OwnSecurityEventList,
  SecurityEventList,
  SecurityEvents,
} from '@keyrail/contract/security-events'
import { endpoint } from './endpoint.ts'

export const listSecurityEvents = endpoint<{ query: SecurityEventList; answer: SecurityEvents }>(
  'GET',
  '/v1/security_events',
)
export const listOwnSecurityEvents = endpoint<{ query: OwnSecurityEventList; answer: SecurityEvents }>(
  'GET',
  '/v1/auth/security_events',
)
