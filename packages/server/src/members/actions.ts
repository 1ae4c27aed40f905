import type { Paging } from '@keyrail/contract/shared'
import type { Member, MemberUpdate } from '@keyrail/contract/vendor/members'
import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { actorOf, appendAudit, type Entry } from '../audit/append.ts'
import { roles, type VendorPrincipal } from '../gate/principal.ts'
import { page } from '../platform/cursor.ts'
import type { Db } from '../platform/db/db.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { endMadeBy, listKeysMadeBy, withTimeForAll } from '../secret-keys/made-by.ts'
import { notifyOfOwner } from '../security-events/owners.ts'
import type { MemberNeeds } from './needs.ts'
import { toMember } from './resource.ts'
import {
  findRole,
  listMemberRows,
  lockMemberAndOwners,
  type MemberRow,
  removeRow,
  updateRole,
} from './sql.ts'

export async function listMembers(
  { cursors }: MemberNeeds,
  db: Db,
  { workspaceId }: VendorPrincipal,
  { limit, cursor }: Paging,
) {
  const before = cursor === undefined ? null : placeOf(cursors.open('members', workspaceId, cursor))
  const rows = await db.readAtOnce(workspaceId, tx => listMemberRows(tx, before, limit))
  return page(rows, limit, toMember, last =>
    cursors.seal('members', workspaceId, `${iso(last.joined_at)} ${last.user_id}`),
  )
}

/** Two members may have joined in the same millisecond. */
function placeOf(sealed: string) {
  const [joinedAt = '', userId = ''] = sealed.split(' ')
  return { joinedAt, userId }
}

/**
 * Changes the role of a member. A demotion also revokes the pending invitations made by the member or by keys
 * descending from the member. The keys keep their roles, so the response lists them; `revoke_keys` revokes them.
 */
export function changeRole(
  deps: MemberNeeds,
  db: Db,
  principal: VendorPrincipal,
  userId: string,
  { role, revoke_keys: revokesKeys = false }: MemberUpdate,
  client: Client,
): Promise<Member & { secret_keys: SecretKey[] }> {
  const work = async (tx: Tx) => {
    endRights(tx, [userId])
    const old = await findRole(tx, userId)
    const at = deps.clock.now()
    const maker = { type: 'user', id: userId } as const
    const isDemoted = old !== null && roles.indexOf(role) < roles.indexOf(old)
    // Before the member, which is the lock order of accepting invitations.
    const made =
      isDemoted || revokesKeys
        ? await endMadeBy(tx, maker, { revokesKeys, at })
        : { keys: await listKeysMadeBy(tx, maker), entries: [] }
    const row = await lockMember(tx, userId, { stays: role === 'owner' })
    const changed: Entry[] =
      row.role === role
        ? []
        : [
            {
              ...target(userId),
              action: 'workspace_member.role_changed',
              payload: { email: row.email, role: { old: row.role, new: role } },
            },
          ]
    if (changed.length > 0) {
      updateRole(tx, userId, role)
      if (role === 'owner') notifyOfOwner(deps, tx, { caller: principal, client }, userId)
    }
    const entries = [...changed, ...made.entries]
    if (entries.length > 0) appendAudit(deps, tx, actorOf(principal), at, entries)
    return { ...toMember({ ...row, role }), secret_keys: made.keys }
  }
  const own = revokesKeys ? withTimeForAll(db) : db
  return own.inWorkspace(principal.workspaceId, work, { changesRights: true })
}

/**
 * Ends a membership from the person's next request on, with the pending invitations made by the person or by keys
 * descending from the person. The keys stay active, so the response lists them; `revokesKeys` revokes them.
 */
export function removeMember(
  deps: MemberNeeds,
  db: Db,
  principal: VendorPrincipal,
  userId: string,
  { revokesKeys }: { revokesKeys: boolean },
) {
  const work = async (tx: Tx) => {
    endRights(tx, [userId])
    const at = deps.clock.now()
    const made = await endMadeBy(tx, { type: 'user', id: userId }, { revokesKeys, at })
    const row = await lockMember(tx, userId, { stays: false })
    removeRow(tx, userId, new Date(at))
    appendAudit(deps, tx, actorOf(principal), at, [
      {
        ...target(userId),
        action: 'workspace_member.removed',
        payload: { email: row.email, role: row.role },
      },
      ...made.entries,
    ])
    return { object: 'member', id: userId, deleted: true, secret_keys: made.keys }
  }
  const own = revokesKeys ? withTimeForAll(db) : db
  return own.inWorkspace(principal.workspaceId, work, { changesRights: true })
}

/**
 * @param stays whether the member is an owner afterwards.
 * @throws {Refusal} `not_found`; `last_owner` when the workspace would have no owner.
 */
async function lockMember(tx: Tx, userId: string, { stays }: { stays: boolean }): Promise<MemberRow> {
  const rows = await lockMemberAndOwners(tx, userId)
  const row = rows.find(({ user_id }) => user_id === userId)
  if (row === undefined) throw new Refusal('not_found')
  if (row.role === 'owner' && !stays && rows.length === 1) throw new Refusal('last_owner')
  return row
}

const target = (id: string) => ({ targetType: 'workspace_member' as const, targetId: id, env: null })
