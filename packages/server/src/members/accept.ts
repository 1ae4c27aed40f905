import type { JoinedMember } from '@keyrail/contract/vendor/members'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { acceptPendingInvite, lockPendingInvite } from '../invites/joining.ts'
import { addressKey } from '../people/address.ts'
import { actIn, proveMailbox, readPerson } from '../people/standing.ts'
import { readMailedToken } from '../platform/crypto/mailed-token.ts'
import { asPersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { Refusal } from '../platform/refusal.ts'
import { notifyOfOwner } from '../security-events/owners.ts'
import { recordEvent } from '../security-events/record.ts'
import { joinWorkspace } from './join.ts'
import type { MemberNeeds } from './needs.ts'

/**
 * Makes the signed-in person a member. The first half of the token names the workspace to look in; without a pending
 * invitation there for the whole token, nothing is written or revealed. Any account may use the token, but its own
 * address must be verified; the mailed token, used by the account it was mailed to, verifies it.
 */
export function acceptInvite(
  { deps, db, principal }: Caller<MemberNeeds, PersonPrincipal>,
  token: string,
  client: Client,
): Promise<JoinedMember> {
  const { scopeId, digest } = readMailedToken(token)
  const { id: userId, sessionId } = principal
  return db.inWorkspace(
    scopeId,
    async tx => {
      const asPerson = asPersonTx(tx, userId)
      const [invite, person] = await Promise.all([lockPendingInvite(tx, digest), readPerson(asPerson)])
      if (invite === null || person === null) throw new Refusal('invalid_token')
      const provesMailbox = invite.is_mailed && invite.address_key === addressKey(person.email)
      if (!person.isVerified && !provesMailbox) throw new Refusal('email_not_verified')
      const at = deps.clock.now()
      const joining = { ...person, role: invite.role, invitedEmail: invite.email }
      const { member, joined } = await joinWorkspace(tx, at, joining)
      if (provesMailbox) proveMailbox(asPerson)
      if (!person.isVerified) {
        const actor = { type: 'user', id: userId }
        recordEvent(deps, tx, { kind: 'address_verified', workspaceId: null, userId, actor, client })
      }
      if (invite.role === 'owner') notifyOfOwner(deps, tx, { caller: principal, client }, userId)
      const workspace = await acceptPendingInvite(tx, invite.id)
      if (principal.workspaceId === null) await actIn(asPerson, sessionId, tx.workspaceId)
      appendAudit(deps, tx, actorOf(principal), at, [joined])
      return { ...member, workspace }
    },
    { userId },
  )
}
