/** Members of a workspace and their roles. `accept.ts` makes a person a member, `join.ts` writes the row. */

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
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { acceptInvite } from './accept.ts'
import { changeRole, leaveAsPerson, listMembers, removeMember } from './actions.ts'
import type { MemberNeeds } from './needs.ts'

const { personRoute, vendorRoute } = routesFor<MemberNeeds>()

export const memberRoutes: Route<MemberNeeds>[] = [
  vendorRoute('GET', '/v1/members', {
    operation: 'listMembers',
    summary: 'List members',
    description: 'Returns the members of the workspace, newest first.',
    access: readers('members:read'),
    query: MemberList,
    answer: Members,
    handle: async (deps, { db, principal, query }) => ({
      body: await listMembers(deps, db, principal, query),
    }),
  }),
  vendorRoute('PATCH', '/v1/members/:userId', {
    operation: 'changeMemberRole',
    summary: "Change a member's role",
    description:
      'The new role applies from the next request of the member. A demotion also revokes the pending invitations made by the member.',
    access: unlimitedOnly(owners('members:write')),
    body: MemberUpdate,
    answer: ChangedMember,
    refusals: ['last_owner'],
    endsRights: true,
    target: 'member',
    handle: async (deps, { db, principal, id, body, client }) => ({
      body: await changeRole(deps, db, principal, id, body, client),
    }),
  }),
  vendorRoute('DELETE', '/v1/members/:userId', {
    operation: 'removeMember',
    summary: 'Remove a member',
    description:
      "Ends the member's access with their next request, and revokes the pending invitations made by them. Their secret keys stay active unless you send `revoke_keys=true`.",
    access: owners('members:write'),
    query: MemberRemoval,
    answer: RemovedMember,
    refusals: ['last_owner'],
    endsRights: true,
    target: 'member',
    handle: async (deps, { db, principal, id, query }) => ({
      body: await removeMember(deps, db, principal, id, { revokesKeys: query.revoke_keys === 'true' }),
    }),
  }),
  personRoute('POST', '/v1/auth/workspaces/:id/leave', {
    operation: 'leaveWorkspace',
    summary: 'Leave a workspace',
    description:
      'Ends the membership of the signed-in person, in whatever role, and revokes the pending invitations made by them. Their secret keys stay active. A session that acts there acts in no workspace from then on.',
    forVerified: true,
    answer: RemovedMember,
    refusals: ['last_owner', 'workspace_unproven'],
    endsRights: true,
    target: 'own_workspace',
    handle: async (deps, { db, principal, id }) => ({ body: await leaveAsPerson(deps, db, principal, id) }),
  }),
  personRoute('POST', '/v1/auth/invites/accept', {
    operation: 'acceptInvite',
    summary: 'Accept an invitation',
    description:
      'Adds the signed-in person to the workspace of the invitation. The person needs a verified address.',
    body: InviteAccept,
    answer: JoinedMember,
    refusals: ['invalid_token', 'email_not_verified', 'already_member'],
    handle: async (deps, { db, principal, body, client }) => ({
      body: await acceptInvite(deps, db, principal, body.token, client),
    }),
  }),
]
