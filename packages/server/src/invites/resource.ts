import type { Invite } from '@keyrail/contract/vendor/invites'
import { iso } from '../platform/time.ts'
import type { InviteRow } from './sql.ts'

/** An invitation as the API returns it, without its tokens. */
export const toInvite = (row: InviteRow): Invite => ({
  object: 'invitation',
  id: row.id,
  email: row.email,
  role: row.role,
  status: statusOf(row),
  created_by:
    row.created_by_type === null || row.created_by_id === null
      ? null
      : { type: row.created_by_type, id: row.created_by_id },
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
})

function statusOf({ accepted_at, revoked_at, is_over }: InviteRow): Invite['status'] {
  if (accepted_at !== null) return 'accepted'
  if (revoked_at !== null) return 'revoked'
  return is_over ? 'expired' : 'pending'
}
