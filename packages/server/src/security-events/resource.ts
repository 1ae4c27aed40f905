import type { SecurityEvent } from '@keyrail/contract/security-events'
import { iso } from '../platform/time.ts'
import { nowhere } from './event.ts'
import type { EventRow } from './sql.ts'

export const toSecurityEvent = (row: EventRow): SecurityEvent => ({
  object: 'security_event',
  id: row.id,
  kind: row.kind,
  workspace_id: row.workspace_id === nowhere ? null : row.workspace_id,
  user_id: row.user_id,
  actor_type: row.actor_type as SecurityEvent['actor_type'],
  actor_id: row.actor_id,
  ip: row.ip,
  user_agent: row.user_agent,
  count: row.count,
  details: row.details,
  last_at: iso(row.last_at),
  created_at: iso(row.created_at),
})
