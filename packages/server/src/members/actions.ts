import type { Member, MemberUpdate } from '@keyrail/contract/vendor/members'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { revokeInvitesOf } from '../invites/revocation.ts'
import { page } from '../platform/cursor.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { listKeysMadeBy } from '../secret-keys/made-by.ts'
import { toMember } from './resource.ts'
import { listMemberRows, lockMemberAndOwners, type MemberRow, removeRow, updateRole } from './sql.ts'

export interface ListQuery {
  limit?: number
  cursor?: string
}

export async function listMembers(
  { db, cursors }: Deps,
  { workspaceId }: VendorPrincipal,
  { limit = 50, cursor }: ListQuery,
) {
  const before = cursor === undefined ? null : placeOf(cursors.open('members', workspaceId, cursor))
  const rows = await db.inWorkspace(workspaceId, tx => listMemberRows(tx, before, limit))
  return page(rows, limit, toMember, last =>
    cursors.seal('members', workspaceId, `${iso(last.joined_at)} ${last.user_id}`),
  )
}

/** Two may have joined in one millisecond. */
function placeOf(sealed: string) {
  const [joinedAt = '', userId = ''] = sealed.split(' ')
  return { joinedAt, userId }
}

/**
 * Gives a member another role. Keys that they made keep theirs, so the answer lists them; what somebody has invited who
 * is an owner no more is revoked.
 */
export function changeRole(
  deps: Deps,
  principal: VendorPrincipal,
  userId: string,
  { role }: MemberUpdate,
): Promise<Member & { secret_keys: unknown[] }> {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    // Before the member, in the order in which invitations are accepted.
    const revoked = role === 'owner' ? [] : await revokeInvitesOf(tx, userId)
    const row = await lockMember(tx, userId, { stays: role === 'owner' })
    const secret_keys = await listKeysMadeBy(tx, userId)
    const member = toMember({ ...row, role })
    if (row.role === role) return { ...member, secret_keys }
    updateRole(tx, userId, role)
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
      {
        ...target(userId),
        action: 'workspace_member.role_changed',
        payload: { email: row.email, role: { old: row.role, new: role } },
      },
      ...revoked,
    ])
    return { ...member, secret_keys }
  })
}

/**
 * Ends a membership, from the person's next request on. Keys that they made live on, so the answer lists them; what they
 * have invited is revoked.
 */
export function removeMember(deps: Deps, principal: VendorPrincipal, userId: string) {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    const revoked = await revokeInvitesOf(tx, userId)
    const row = await lockMember(tx, userId, { stays: false })
    const secret_keys = await listKeysMadeBy(tx, userId)
    const at = deps.clock.now()
    removeRow(tx, userId, new Date(at))
    appendAudit(deps, tx, actorOf(principal), at, [
      {
        ...target(userId),
        action: 'workspace_member.removed',
        payload: { email: row.email, role: row.role },
      },
      ...revoked,
    ])
    return { object: 'member', id: userId, deleted: true, secret_keys }
  })
}

/**
 * @param stays whether the member is an owner afterwards.
 * @throws {Refusal} `not_found`; `last_owner` when nobody else would be one.
 */
async function lockMember(tx: Tx, userId: string, { stays }: { stays: boolean }): Promise<MemberRow> {
  const rows = await lockMemberAndOwners(tx, userId)
  const row = rows.find(({ user_id }) => user_id === userId)
  if (row === undefined) throw new Refusal('not_found')
  if (row.role === 'owner' && !stays && rows.length === 1) throw new Refusal('last_owner')
  return row
}

const target = (id: string) => ({ targetType: 'workspace_member' as const, targetId: id, env: null })
