import { IdentifiedInvite, InviteIdentify } from '../people.ts'
import { CreatedInvite, Invite, InviteCreate, InviteList, Invites } from '../vendor/invites.ts'
import { declareRoutes } from './declare.ts'

export const inviteRoutes = declareRoutes({
  'POST /v1/invites': {
    plane: 'vendor',
    operation: 'createInvite',
    summary: 'Invite a person',
    description: 'Mails an invitation. The response contains a second token, which you can pass on yourself.',
    permission: 'members:write',
    body: InviteCreate,
    status: 201,
    answer: CreatedInvite,
    refusals: ['already_member', 'email_not_verified'],
    replayable: true,
  },
  'GET /v1/invites': {
    plane: 'vendor',
    operation: 'listInvites',
    summary: 'List invitations',
    description: 'Returns invitations, newest first.',
    permission: 'members:read',
    query: InviteList,
    answer: Invites,
  },
  'POST /v1/invites/:id/revoke': {
    plane: 'vendor',
    operation: 'revokeInvite',
    summary: 'Revoke an invitation',
    description: 'Ends both tokens of the invitation. Repeating the call changes nothing.',
    permission: 'members:write',
    answer: Invite,
  },
  'POST /v1/auth/invites/identify': {
    plane: 'open',
    operation: 'identifyInvite',
    summary: 'Read an invitation',
    description:
      'Returns what the letter of an invitation says, to a caller with its token. The token stays valid, and is in the body because it does not belong in a URL.',
    body: InviteIdentify,
    answer: IdentifiedInvite,
    refusals: ['invalid_token'],
  },
})
