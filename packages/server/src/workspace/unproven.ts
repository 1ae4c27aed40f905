import type { Membership } from '@keyrail/contract/people'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { leaveWorkspace } from '../members/join.ts'
import { actIn } from '../people/standing.ts'
import { asPersonTx, type Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { beginEnding, endMakers, hasMadeLeft } from '../secret-keys/ending.ts'
import type { WorkspaceNeeds } from './needs.ts'
import { findWorkspace } from './sql.ts'
import { keepRow, lockStanding, type StandingRow } from './unproven-sql.ts'

/** The decision of a person about a workspace that the person's account joined before anybody had proved to own the account. */

const makerOf = (userId: string) => ({ type: 'user', id: userId }) as const

/** @throws {Refusal} `not_found`, for a workspace of other people or without the mark, as for a missing one. */
async function lockUnproven(tx: Tx, userId: string): Promise<StandingRow> {
  const standing = await lockStanding(tx, userId)
  if (standing?.is_member !== true || !standing.unproven) throw new Refusal('not_found')
  return standing
}

const entryOf = (
  action: 'workspace_member.joined' | 'workspace_member.removed',
  userId: string,
  { email, role }: StandingRow,
): Entry => ({
  action,
  targetType: 'workspace_member',
  targetId: userId,
  env: null,
  payload: { email, role },
})

/**
 * The person acts in the workspace again, and a session without a workspace moves into it. What the account made in the
 * workspace ends before that, because what the person makes later has the same maker.
 */
export async function keepWorkspace(
  {
    deps,
    db,
    principal: { id: userId, sessionId, workspaceId: actsIn },
  }: Caller<WorkspaceNeeds, PersonPrincipal>,
  workspaceId: string,
): Promise<Membership> {
  const actor: Actor = makerOf(userId)
  const keep = async (tx: Tx): Promise<Membership | null> => {
    const standing = await lockUnproven(tx, userId)
    if (await hasMadeLeft(tx, makerOf(userId))) return null
    const workspace = await findWorkspace(tx)
    if (workspace === null) throw new Refusal('not_found')
    keepRow(tx, userId)
    if (actsIn === null) await actIn(asPersonTx(tx, userId), sessionId, workspaceId)
    const entry = entryOf('workspace_member.joined', userId, standing)
    appendAudit(deps, tx, actor, deps.clock.now(), [entry])
    const { id, name, slug } = workspace
    return { id, name, slug, role: standing.role, unproven: false }
  }
  const tryTo = () => db.inWorkspace(workspaceId, keep, { userId })
  const kept = await tryTo()
  if (kept !== null) return kept
  await deps.disownings.follow(userId)
  return (await tryTo()) ?? stillEnding()
}

const stillEnding = (): never => {
  throw new Refusal('workspace_unproven', 'What the account made there is still being ended. Try again.', {
    headers: { 'retry-after': '1' },
  })
}

/**
 * The person leaves the workspace, even as its last owner, and what the account made there ends. If no person is left, no
 * person can act in the workspace any more.
 */
export async function giveUpWorkspace(
  { deps, db, principal: { id: userId } }: Caller<WorkspaceNeeds, PersonPrincipal>,
  workspaceId: string,
): Promise<{ object: 'workspace'; id: string; deleted: true }> {
  const maker = makerOf(userId)
  const giveUp = async (tx: Tx): Promise<boolean> => {
    endMakers(tx, [userId])
    const standing = await lockUnproven(tx, userId)
    const at = deps.clock.now()
    leaveWorkspace(tx, userId, at)
    appendAudit(deps, tx, maker, at, [entryOf('workspace_member.removed', userId, standing)])
    return await beginEnding(tx, maker, { revokesKeys: true, actor: maker, at })
  }
  const hasMade = await db.inWorkspace(workspaceId, giveUp, { userId, changesRights: true })
  if (hasMade) await deps.endings.follow(workspaceId, maker)
  return { object: 'workspace', id: workspaceId, deleted: true }
}
