import { CreatedInvite, Invite, InviteCreate, InviteList, Invites } from '@keyrail/contract/vendor/invites'
import { owners, readers, unlimitedOnly } from '../gate/access.ts'
import { type Route, vendorRoute } from '../gate/route.ts'
import { createInvite, listInvites, revokeInvite } from './actions.ts'

export const inviteRoutes: Route[] = [
  vendorRoute('POST', '/v1/invites', {
    operation: 'createInvite',
    summary: 'Invite a person by e-mail; the answer has the owner’s own copy of the token',
    access: unlimitedOnly(owners('members:write')),
    body: InviteCreate,
    status: 201,
    answer: CreatedInvite,
    refusals: ['already_member'],
    replayable: true,
    handle: (deps, { principal, body, replay }) => createInvite(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/invites', {
    operation: 'listInvites',
    summary: 'List invitations, newest first',
    access: readers('members:read'),
    query: InviteList,
    answer: Invites,
    handle: async (deps, { principal, query }) => ({ body: await listInvites(deps, principal, query) }),
  }),
  vendorRoute('POST', '/v1/invites/:id/revoke', {
    operation: 'revokeInvite',
    summary: 'Revoke an invitation; both of its tokens stop to work',
    access: owners('members:write'),
    answer: Invite,
    handle: async (deps, { principal, id }) => ({ body: await revokeInvite(deps, principal, id) }),
  }),
]
