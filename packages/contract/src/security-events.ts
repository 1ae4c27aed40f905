import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { listOf, nullable, oneOf, paging, type ReadQuery, resource, Timestamp, Uuid } from './shared.ts'
import { actorTypes } from './vendor/audit.ts'

/** Every kind of security event. A test compares the table of `docs/security-events.md` with this list. */
export const securityEventKinds = [
  'sign_in',
  'sign_in_failed',
  'new_device',
  'workspace_entered',
  'session_ended',
  'password_changed',
  'reset_requested',
  'password_reset',
  'address_verified',
  'owner_added',
  'owner_key_created',
  'permission_refused',
  'address_refused',
  'throttled',
  'credential_leaked',
  'workspace_deleted',
] as const
export type SecurityEventKind = (typeof securityEventKinds)[number]

export const SecurityEventKind = oneOf(securityEventKinds)

export const SecurityEvent = resource('security_event', {
  kind: SecurityEventKind,
  workspace_id: nullable(Uuid),
  user_id: nullable(Uuid),
  actor_type: nullable(oneOf(actorTypes)),
  actor_id: nullable(Type.String()),
  ip: nullable(Type.String({ description: 'As the trusted proxies report it. Null if you may not see it.' })),
  user_agent: nullable(Type.String()),
  count: Type.Integer({
    minimum: 1,
    description: 'How often it happened in the minute that begins at `created_at`.',
  }),
  details: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  last_at: Timestamp,
})
export type SecurityEvent = Static<typeof SecurityEvent>
export const SecurityEvents = listOf(SecurityEvent)
export type SecurityEvents = Static<typeof SecurityEvents>

const filters = {
  kind: Type.Optional(SecurityEventKind),
  created_after: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'Only events of this time and later.' }),
  ),
  created_before: Type.Optional(
    Type.Unsafe<string>({ ...Timestamp, description: 'Only events before this time.' }),
  ),
}

export const SecurityEventList = Type.Object({ ...filters, user_id: Type.Optional(Uuid), ...paging() })
export type SecurityEventList = ReadQuery<typeof SecurityEventList>

export const OwnSecurityEventList = Type.Object({ ...filters, ...paging() })
export type OwnSecurityEventList = ReadQuery<typeof OwnSecurityEventList>
