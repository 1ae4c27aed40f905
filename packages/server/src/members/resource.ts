import type { Member } from '@keyrail/contract/vendor/members'
import { iso } from '../platform/time.ts'
import type { MemberRow } from './sql.ts'

/** A member as the API returns it; its id is the person's. */
export const toMember = (row: MemberRow): Member => ({
  object: 'member',
  id: row.user_id,
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role,
  joined_at: iso(row.joined_at),
  created_at: iso(row.joined_at),
})
