import { endpoint } from './endpoint.ts'

export const listSecurityEvents = endpoint('GET /v1/security_events')
export const listOwnSecurityEvents = endpoint('GET /v1/auth/security_events')
