import type { Session, User } from '@keyrail/contract/people'
import { iso } from '../platform/time.ts'
import type { SessionRow } from './session-sql.ts'
import type { UserRow } from './sql.ts'

export const toUser = (row: UserRow): User => ({
  object: 'user',
  id: row.id,
  email: row.email,
  email_verified: row.email_verified_at !== null,
  name: row.name,
  created_at: iso(row.created_at),
})

/** @param currentId the session of the request. */
export const toSession = (row: SessionRow, currentId: string): Session => ({
  object: 'session',
  id: row.id,
  current: row.id === currentId,
  workspace_id: row.acts_in,
  user_agent: row.user_agent,
  ip: row.ip,
  last_seen_at: iso(row.last_seen_at),
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
})
