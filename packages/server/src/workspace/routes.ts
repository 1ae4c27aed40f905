import { Membership, WorkspaceAdoption } from '@keyrail/contract/people'
import { deleted } from '@keyrail/contract/shared'
import {
  CreatedWorkspace,
  Workspace,
  WorkspaceCreate,
  WorkspaceUpdate,
} from '@keyrail/contract/vendor/workspace'
import { liveEditors, readers } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { createWorkspace, getWorkspace, updateWorkspace } from './actions.ts'
import { adoptWorkspace } from './adopt.ts'
import type { WorkspaceNeeds } from './needs.ts'
import { giveUpWorkspace, keepWorkspace } from './unproven.ts'

const { personRoute, route, vendorRoute } = routesFor<WorkspaceNeeds>()
const EndedWorkspace = deleted('workspace')

export const workspaceRoutes: Route<WorkspaceNeeds>[] = [
  route('POST', '/v1/workspaces', {
    operation: 'createWorkspace',
    summary: 'Create a workspace',
    description:
      'Creates a workspace with its first secret key, which is shown once. A signed-in person becomes its owner.',
    // A member may not write in the current workspace, and so may not create another one from within it.
    access: { credentials: ['bootstrap', 'session'], role: 'admin', liveOnly: false, inWorkspace: false },
    body: WorkspaceCreate,
    status: 201,
    answer: CreatedWorkspace,
    refusals: ['slug_taken', 'workspace_limit_reached', 'email_not_verified'],
    replayable: true,
    handle: async (deps, { db, principal, body, replay, client }) => {
      const made = await createWorkspace(deps, db, principal, body, replay, client)
      if (made.replayed === undefined) deps.metrics.workspaceCreated()
      return made
    },
  }),
  vendorRoute('GET', '/v1/workspace', {
    operation: 'getWorkspace',
    summary: 'Get the workspace',
    description: 'Returns the workspace that the credential belongs to.',
    access: readers('workspace:read'),
    answer: Workspace,
    handle: async (_, { db, principal }) => ({ body: await getWorkspace(db, principal) }),
  }),
  vendorRoute('PATCH', '/v1/workspace', {
    operation: 'updateWorkspace',
    summary: 'Update the workspace',
    description: 'Replaces the fields that the body names, in the workspace that the credential belongs to.',
    access: liveEditors('workspace:write'),
    body: WorkspaceUpdate,
    answer: Workspace,
    refusals: ['email_not_verified'],
    handle: async (deps, { db, principal, body, client }) => ({
      body: await updateWorkspace(deps, db, principal, body, client),
    }),
  }),
  personRoute('POST', '/v1/auth/workspaces/adopt', {
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
    handle: async (deps, { db, principal, body, client }) => ({
      body: await adoptWorkspace(deps, db, principal, body.secret_key, { ip: client.ip }),
    }),
  }),
  personRoute('POST', '/v1/auth/workspaces/:id/keep', {
    operation: 'keepWorkspace',
    summary: 'Keep an unproven workspace',
    description:
      'The person decides to keep a workspace that their account joined before anybody had shown that it is theirs, and acts there again. A session without a workspace moves into it.',
    forVerified: true,
    answer: Membership,
    refusals: ['workspace_unproven'],
    handle: async (deps, { db, principal, id }) => ({ body: await keepWorkspace(deps, db, principal, id) }),
  }),
  personRoute('DELETE', '/v1/auth/workspaces/:id', {
    operation: 'giveUpWorkspace',
    summary: 'Give up an unproven workspace',
    description:
      'The person leaves a workspace that their account joined before anybody had shown that it is theirs, also as its last owner. What the account made there ends.',
    forVerified: true,
    answer: EndedWorkspace,
    endsRights: true,
    target: 'own_workspace',
    handle: async (deps, { db, principal, id }) => ({ body: await giveUpWorkspace(deps, db, principal, id) }),
  }),
]
