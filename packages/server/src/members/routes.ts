import { InviteAccept } from '@keyrail/contract/people'
import {
  ChangedMember,
  JoinedMember,
  MemberList,
  MemberRemoval,
  Members,
  MemberUpdate,
  RemovedMember,
} from '@keyrail/contract/vendor/members'
import { owners, readers, unlimitedOnly } from '../gate/access.ts'
import { personRoute, type Route, vendorRoute } from '../gate/route.ts'
import { acceptInvite } from './accept.ts'
import { changeRole, listMembers, removeMember } from './actions.ts'

export const memberRoutes: Route[] = [
  vendorRoute('GET', '/v1/members', {
    operation: 'listMembers',
    summary: 'List the people of the workspace, newest first',
    access: readers('members:read'),
    query: MemberList,
    answer: Members,
    handle: async (deps, { principal, query }) => ({ body: await listMembers(deps, principal, query) }),
  }),
  vendorRoute('PATCH', '/v1/members/:userId', {
    operation: 'changeMemberRole',
    summary: 'Give a member another role',
    access: unlimitedOnly(owners('members:write')),
    body: MemberUpdate,
    answer: ChangedMember,
    refusals: ['last_owner'],
    handle: async (deps, { principal, id, body, client }) => ({
      body: await changeRole(deps, principal, id, body, client),
    }),
  }),
  vendorRoute('DELETE', '/v1/members/:userId', {
    operation: 'removeMember',
    summary: 'Remove a member; their access ends with their next request',
    access: owners('members:write'),
    query: MemberRemoval,
    answer: RemovedMember,
    refusals: ['last_owner'],
    handle: async (deps, { principal, id, query }) => ({
      body: await removeMember(deps, principal, id, { revokesKeys: query.revoke_keys === 'true' }),
    }),
  }),
  personRoute('POST', '/v1/auth/invites/accept', {
    operation: 'acceptInvite',
    summary: 'Join the workspace that an invitation is for',
    body: InviteAccept,
    answer: JoinedMember,
    refusals: ['invalid_token', 'email_not_verified', 'already_member'],
    handle: async (deps, { principal, body, client }) => ({
      body: await acceptInvite(deps, principal, body.token, client),
    }),
  }),
]
