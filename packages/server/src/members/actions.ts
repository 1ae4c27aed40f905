import type { Paging } from '@keyrail/contract/shared'
import type { ChangedMember, MemberUpdate, RemovedMember } from '@keyrail/contract/vendor/members'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { type PersonPrincipal, roles } from '../gate/principal.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { page } from '../platform/paging/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { beginEnding, endMakers } from '../secret-keys/ending.ts'
import { nothingMade, showMade } from '../secret-keys/made.ts'
import { notifyOfOwner } from '../security-events/owners.ts'
import type { MemberNeeds } from './needs.ts'
import { toMember } from './resource.ts'
import {
  isUnprovenRow,
  listMemberRows,
  lockMemberAndOwners,
  type MemberRow,
  removeRow,
  updateRole,
} from './sql.ts'

export async function listMembers(
  { deps: { cursors }, db, principal: { workspaceId } }: Caller<MemberNeeds>,
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
 * Changes the role of a member; after a demotion the pending invitations made by the member or by keys descending from the
 * member end. The keys keep their roles, so the response lists them; `revoke_keys` ends them.
 */
export async function changeRole(
  { deps, db, principal }: Caller<MemberNeeds>,
  userId: string,
  { role, revoke_keys: revokesKeys = false }: MemberUpdate,
  client: Client,
): Promise<ChangedMember> {
  const work = async (tx: Tx) => {
    endMakers(tx, [userId])
    const row = await lockMember(tx, userId, { stays: role === 'owner' })
    const at = deps.clock.now()
    const actor = actorOf(principal)
    if (row.role !== role) {
      updateRole(tx, userId, role)
      if (role === 'owner') notifyOfOwner(deps, tx, { caller: principal, client }, userId)
      const payload = { email: row.email, role: { old: row.role, new: role } }
      appendAudit(deps, tx, actor, at, [
        { ...target(userId), action: 'workspace_member.role_changed', payload },
      ])
    }
    const isDemoted = roles.indexOf(role) < roles.indexOf(row.role)
    const ends = isDemoted || revokesKeys
    return { row, hasMade: ends && (await beginEnding(tx, makerOf(userId), { revokesKeys, actor, at })) }
  }
  const { row, hasMade } = await db.inWorkspace(principal.workspaceId, work, { changesRights: true })
  if (hasMade) await deps.endings.follow(principal.workspaceId, makerOf(userId))
  const { made, cascade } = await showMade({ deps, db, principal }, makerOf(userId), revokesKeys, hasMade)
  return { ...toMember({ ...row, role }), secret_keys: made, cascade }
}

/** Ends the membership of another person, or of the caller. */
export async function removeMember(
  { deps, db, principal }: Caller<MemberNeeds>,
  userId: string,
  { revokesKeys }: { revokesKeys: boolean },
): Promise<RemovedMember> {
  const actor = actorOf(principal)
  const remove = (tx: Tx) => endMembership(deps, tx, userId, { actor, revokesKeys })
  const hasMade = await db.inWorkspace(principal.workspaceId, remove, { changesRights: true })
  return await followRemoval({ deps, db, principal }, userId, { hasMade, revokesKeys })
}

/**
 * The signed-in person leaves a workspace, in whatever role. What follows is what follows a removal.
 * @throws {Refusal} `workspace_unproven` before the person has decided about what their account made there.
 */
export async function leaveAsPerson(
  { deps, db, principal }: Caller<MemberNeeds, PersonPrincipal>,
  workspaceId: string,
): Promise<RemovedMember> {
  const { id: userId } = principal
  const actor = actorOf(principal)
  const leave = async (tx: Tx) => {
    if (await isUnprovenRow(tx, userId)) throw new Refusal('workspace_unproven')
    return await endMembership(deps, tx, userId, { actor, revokesKeys: false, reason: 'left' })
  }
  const hasMade = await db.inWorkspace(workspaceId, leave, { userId, changesRights: true })
  return await followRemoval({ deps, db, principal: { ...principal, workspaceId } }, userId, {
    hasMade,
    revokesKeys: false,
  })
}

interface Removal {
  readonly actor: Actor
  readonly revokesKeys: boolean
  readonly reason?: 'left'
}

/**
 * Ends a membership from the person's next request on; then the pending invitations made by the person or by keys
 * descending from the person end. The keys stay active, so the response lists them; `revokesKeys` ends them.
 * @returns whether anything follows.
 */
async function endMembership(
  deps: MemberNeeds,
  tx: Tx,
  userId: string,
  { actor, revokesKeys, reason }: Removal,
): Promise<boolean> {
  endMakers(tx, [userId])
  const at = deps.clock.now()
  const row = await lockMember(tx, userId, { stays: false })
  removeRow(tx, userId, new Date(at))
  const payload = { email: row.email, role: row.role, ...(reason !== undefined && { reason }) }
  appendAudit(deps, tx, actor, at, [{ ...target(userId), action: 'workspace_member.removed', payload }])
  return await beginEnding(tx, makerOf(userId), { revokesKeys, actor, at })
}

/** Ends the invitations and keys below a former member, and shows the keys. */
async function followRemoval(
  { deps, db, principal }: Caller<MemberNeeds>,
  userId: string,
  { hasMade, revokesKeys }: { hasMade: boolean; revokesKeys: boolean },
): Promise<RemovedMember> {
  if (hasMade) await deps.endings.follow(principal.workspaceId, makerOf(userId))
  const { made, cascade } = hasMade
    ? await showMade({ deps, db, principal }, makerOf(userId), revokesKeys)
    : nothingMade
  return { object: 'member', id: userId, deleted: true, secret_keys: made, cascade }
}

const makerOf = (userId: string) => ({ type: 'user', id: userId }) as const

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
