import type { Paging } from '@keyrail/contract/shared'
import type { CreatedInvite, Invite, InviteCreate } from '@keyrail/contract/vendor/invites'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { addressKey } from '../people/address.ts'
import { personWhoVouches } from '../people/vouching.ts'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { chargeLetter } from '../platform/mail/charge.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { page } from '../platform/paging/cursor.ts'
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
/** The workspace name is part of each mail, so an unlimited workspace could send spam in our name. */
const mostAnHour = 200

/**
 * Invites an address. The response contains a token for the owner to pass on; the mailed link has another one, which
 * the mail job generates. A pending invitation for the same address is retired.
 */
export function createInvite(
  { deps, db, principal }: Caller<CommonNeeds>,
  { email, role }: InviteCreate,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const work = async (tx: Tx): Promise<CreatedInvite> => {
    const address = addressKey(email)
    const personId = await personWhoVouches(tx, principal, 'invite people')
    lockInvitations(tx)
    const [isIn, ofLastHour] = await Promise.all([isMember(tx, address), countInvites(tx)])
    if (isIn) throw new Refusal('already_member')
    if (ofLastHour >= mostAnHour) throw tooMany()
    if (personId !== null) {
      // A secret key's request comes from a server, whose network says nothing about people.
      await chargeLetter(tx, personId, principal.kind === 'session' ? client.ip : null)
    }
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
    const { workspaceId } = tx
    const ids = { workspace_id: workspaceId, invite_id: row.id }
    queueMail(tx, { kind: 'invitation', throttle: 'invitation', workspaceId, address, ids })
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
      ...retired.map(old => inviteRevoked(toInvite(old), 'superseded')),
      { ...targetOf(row.id), action: 'workspace_invite.created', payload: { ...invite } },
    ])
    return { ...invite, token }
  }
  return mutate(db, principal.workspaceId, replay, work, ({ token: _, ...rest }) => rest)
}

/** The gate admits only people and secret keys here. */
function makerOf({ kind, id }: VendorPrincipal) {
  if (id === null) throw new Error(`a ${kind} cannot invite`)
  return { type: kind === 'session' ? ('user' as const) : ('secret_key' as const), id }
}

export async function listInvites(
  { deps: { cursors }, db, principal: { workspaceId } }: Caller<CommonNeeds>,
  { limit, cursor }: Paging,
) {
  const before = cursor === undefined ? null : cursors.open('invites', workspaceId, cursor)
  const rows = await db.readAtOnce(workspaceId, tx => listInviteRows(tx, before, limit))
  return page(rows, limit, toInvite, last => cursors.seal('invites', workspaceId, last.id))
}

/** Both tokens stop working. An accepted, revoked or expired invitation does not change; the response shows its status. */
export function revokeInvite({ deps, db, principal }: Caller<CommonNeeds>, id: string): Promise<Invite> {
  return db.inWorkspace(principal.workspaceId, async tx => {
    const row = await lockInvite(tx, id)
    if (row === null) throw new Refusal('not_found')
    if (toInvite(row).status !== 'pending') return toInvite(row)
    const invite = toInvite(await revokeInviteRow(tx, id))
    appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [inviteRevoked(invite, null)])
    return invite
  })
}

const tooMany = () =>
  new Refusal('too_many_requests', `A workspace can create ${mostAnHour} invitations an hour.`, {
    headers: { 'retry-after': '3600' },
  })
