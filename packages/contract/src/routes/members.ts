import { InviteAccept } from '../people.ts'
import {
  ChangedMember,
  JoinedMember,
  MemberList,
  MemberRemoval,
  Members,
  MemberUpdate,
  RemovedMember,
} from '../vendor/members.ts'
import { declareRoutes } from './declare.ts'

export const memberRoutes = declareRoutes({
  'GET /v1/members': {
    plane: 'vendor',
    operation: 'listMembers',
    summary: 'List members',
    description: 'Returns the members of the workspace, newest first.',
    permission: 'members:read',
    query: MemberList,
    answer: Members,
  },
  'PATCH /v1/members/:userId': {
    plane: 'vendor',
    operation: 'changeMemberRole',
    summary: "Change a member's role",
    description:
      'The new role applies from the next request of the member. A demotion also revokes the pending invitations made by the member.',
    permission: 'members:write',
    body: MemberUpdate,
    answer: ChangedMember,
    refusals: ['last_owner'],
  },
  'DELETE /v1/members/:userId': {
    plane: 'vendor',
    operation: 'removeMember',
    summary: 'Remove a member',
    description:
      "Ends the member's access with their next request, and revokes the pending invitations made by them. Their secret keys stay active unless you send `revoke_keys=true`.",
    permission: 'members:write',
    query: MemberRemoval,
    answer: RemovedMember,
    refusals: ['last_owner'],
  },
  'POST /v1/auth/workspaces/:id/leave': {
    plane: 'person',
    operation: 'leaveWorkspace',
    summary: 'Leave a workspace',
    description:
      'Ends the membership of the signed-in person, in whatever role, and revokes the pending invitations made by them. Their secret keys stay active. A session that acts there acts in no workspace from then on.',
    forVerified: true,
    answer: RemovedMember,
    refusals: ['last_owner', 'workspace_unproven'],
  },
  'POST /v1/auth/invites/accept': {
    plane: 'person',
    operation: 'acceptInvite',
    summary: 'Accept an invitation',
    description:
      'Adds the signed-in person to the workspace of the invitation. The person needs a verified address.',
    body: InviteAccept,
    answer: JoinedMember,
    refusals: ['invalid_token', 'email_not_verified', 'already_member'],
  },
})
