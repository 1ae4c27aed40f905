/**
 * Invitations. `actions.ts` creates and revokes them, `letters.ts` writes the mail, `shown.ts` says the same to the holder
 * of a token, and `joining.ts` lets the room of members accept one.
 */

import { IdentifiedInvite, InviteIdentify } from '@keyrail/contract/people'
import { CreatedInvite, Invite, InviteCreate, InviteList, Invites } from '@keyrail/contract/vendor/invites'
import { owners, readers, unlimitedOnly } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { createInvite, listInvites, revokeInvite } from './actions.ts'
import type { InviteNeeds } from './needs.ts'
import { identifyInvite } from './shown.ts'

const { openRoute, vendorRoute } = routesFor<InviteNeeds>()

export const inviteRoutes: Route<InviteNeeds>[] = [
  vendorRoute('POST', '/v1/invites', {
    operation: 'createInvite',
    summary: 'Invite a person',
    description: 'Mails an invitation. The response contains a second token, which you can pass on yourself.',
    access: unlimitedOnly(owners('members:write')),
    body: InviteCreate,
    status: 201,
    answer: CreatedInvite,
    refusals: ['already_member', 'email_not_verified'],
    replayable: true,
    handle: (deps, { db, principal, body, replay, client }) =>
      createInvite(deps, db, principal, body, replay, client),
  }),
  vendorRoute('GET', '/v1/invites', {
    operation: 'listInvites',
    summary: 'List invitations',
    description: 'Returns invitations, newest first.',
    access: readers('members:read'),
    query: InviteList,
    answer: Invites,
    handle: async (deps, { db, principal, query }) => ({
      body: await listInvites(deps, db, principal, query),
    }),
  }),
  vendorRoute('POST', '/v1/invites/:id/revoke', {
    operation: 'revokeInvite',
    summary: 'Revoke an invitation',
    description: 'Ends both tokens of the invitation. Repeating the call changes nothing.',
    access: owners('members:write'),
    answer: Invite,
    endsRights: true,
    target: 'invite',
    handle: async (deps, { db, principal, id }) => ({ body: await revokeInvite(deps, db, principal, id) }),
  }),
  openRoute('POST', '/v1/auth/invites/identify', {
    operation: 'identifyInvite',
    summary: 'Read an invitation',
    description:
      'Returns what the letter of an invitation says, to a caller with its token. The token stays valid, and is in the body because it does not belong in a URL.',
    body: InviteIdentify,
    answer: IdentifiedInvite,
    refusals: ['invalid_token'],
    handle: async (_, { db, body }) => ({ body: await identifyInvite(db, body.token) }),
  }),
]
