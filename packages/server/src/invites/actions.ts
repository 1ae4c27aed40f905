import type { CreatedInvite, Invite, InviteCreate } from '@keyrail/contract/vendor/invites'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { addressKey } from '../people/address.ts'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import { page } from '../platform/cursor.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { Refusal } from '../platform/refusal.ts'
import { toInvite } from './resource.ts'
import { inviteRevoked, targetOf } from './revocation.ts'
import {
  countInvites,
  insertInvite,
  isMember,
  listInviteRows,
  lockInvitations,
  lockInvite,
  retireInvites,
  revokeInviteRow,
} from './sql.ts'

const validDays = 7
/** A workspace's name stands in each letter, and whoever wants it said to many must not have us say it. */
const mostAnHour = 200

/**
 * Invites an address. The token in the answer is the owner's own copy; the mailed link has another, drawn by the
 * sender. An invitation of the same address that is still pending is retired.
 */
export function createInvite(
  deps: Deps,
  principal: VendorPrincipal,
  { email, role }: InviteCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  const work = async (tx: Tx): Promise<CreatedInvite> => {
    const address = addressKey(email)
    lockInvitations(tx)
    const [isIn, ofLastHour] = await Promise.all([isMember(tx, address), countInvites(tx)])
    if (isIn) throw new Refusal('already_member')
    if (ofLastHour >= mostAnHour) throw tooMany()
    const retired = await retireInvites(tx, address)
    const { token, digest } = drawMailedToken(tx.workspaceId, deps.randomBytes)
    const row = await insertInvite(tx, {
      id: deps.makeId(),
      email,
      addressKey: address,
      role,
      digest,
      maker: makerOf(principal),
      sessionId: principal.sessionId,
      days: validDays,
    })
    const invite = toInvite(row)
    const ids = { workspace_id: tx.workspaceId, invite_id: row.id }
    queueMail(tx, { kind: 'invitation', throttle: 'invitation', address, ids })
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
      ...retired.map(old => inviteRevoked(toInvite(old), 'superseded')),
      { ...targetOf(row.id), action: 'workspace_invite.created', payload: { ...invite } },
    ])
    return { ...invite, token }
  }
  return mutate(deps.db, principal.workspaceId, replay, 201, work, ({ token: _, ...rest }) => rest)
}

/** The gate lets in nobody else: a person or a secret key. */
function makerOf({ kind, id }: VendorPrincipal) {
  if (id === null) throw new Error(`a ${kind} invites nobody`)
  return { type: kind === 'session' ? ('user' as const) : ('secret_key' as const), id }
}

export interface ListQuery {
  limit?: number
  cursor?: string
}

export async function listInvites(
  { db, cursors }: Deps,
  { workspaceId }: VendorPrincipal,
  { limit = 50, cursor }: ListQuery,
) {
  const before = cursor === undefined ? null : cursors.open('invites', workspaceId, cursor)
  const rows = await db.inWorkspace(workspaceId, tx => listInviteRows(tx, before, limit))
  return page(rows, limit, toInvite, last => cursors.seal('invites', workspaceId, last.id))
}

/** Both tokens stop to work. What is no longer pending stays as it is, and the answer says what that is. */
export function revokeInvite(deps: Deps, principal: VendorPrincipal, id: string): Promise<Invite> {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    const row = await lockInvite(tx, id)
    if (row === null) throw new Refusal('not_found')
    if (toInvite(row).status !== 'pending') return toInvite(row)
    const invite = toInvite(await revokeInviteRow(tx, id))
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [inviteRevoked(invite, null)])
    return invite
  })
}

const tooMany = () =>
  new Refusal('too_many_requests', `A workspace may invite ${mostAnHour} times an hour.`, {
    headers: { 'retry-after': '3600' },
  })
