import { Membership, WorkspaceAdoption } from '../people.ts'
import { deleted } from '../shared.ts'
import { CreatedWorkspace, Workspace, WorkspaceCreate, WorkspaceUpdate } from '../vendor/workspace.ts'
import { declareRoutes } from './declare.ts'

export const workspaceRoutes = declareRoutes({
  'POST /v1/workspaces': {
    plane: 'vendor',
    operation: 'createWorkspace',
    summary: 'Create a workspace',
    description:
      'Creates a workspace with its first secret key, which is shown once. A signed-in person becomes its owner.',
    body: WorkspaceCreate,
    status: 201,
    answer: CreatedWorkspace,
    refusals: ['slug_taken', 'workspace_limit_reached', 'email_not_verified'],
    replayable: true,
  },
  'GET /v1/workspace': {
    plane: 'vendor',
    operation: 'getWorkspace',
    summary: 'Get the workspace',
    description: 'Returns the workspace that the credential belongs to.',
    permission: 'workspace:read',
    answer: Workspace,
  },
  'PATCH /v1/workspace': {
    plane: 'vendor',
    operation: 'updateWorkspace',
    summary: 'Update the workspace',
    description: 'Replaces the fields that the body names, in the workspace that the credential belongs to.',
    permission: 'workspace:write',
    body: WorkspaceUpdate,
    answer: Workspace,
    refusals: ['email_not_verified'],
  },
  'POST /v1/auth/workspaces/adopt': {
    plane: 'person',
    operation: 'adoptWorkspace',
    forVerified: true,
    summary: 'Adopt a workspace without members',
    description:
      'Makes the signed-in person the owner of a workspace without members, such as one that was made with the bootstrap token. The person shows a secret key of an owner there. A session without a workspace moves into it.',
    body: WorkspaceAdoption,
    answer: Membership,
    refusals: [
      'invalid_token',
      'owner_required',
      'ip_not_allowed',
      'workspace_taken',
      'workspace_limit_reached',
    ],
  },
  'POST /v1/auth/workspaces/:id/keep': {
    plane: 'person',
    operation: 'keepWorkspace',
    summary: 'Keep an unproven workspace',
    description:
      'The person decides to keep a workspace that their account joined before anybody had shown that it is theirs, and acts there again. A session without a workspace moves into it.',
    forVerified: true,
    answer: Membership,
    refusals: ['workspace_unproven'],
  },
  'DELETE /v1/auth/workspaces/:id': {
    plane: 'person',
    operation: 'giveUpWorkspace',
    summary: 'Give up an unproven workspace',
    description:
      'The person leaves a workspace that their account joined before anybody had shown that it is theirs, also as its last owner. What the account made there ends.',
    forVerified: true,
    answer: deleted('workspace'),
  },
})
