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
import type { WorkspaceNeeds } from './needs.ts'

const { route, vendorRoute } = routesFor<WorkspaceNeeds>()

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
    handle: (deps, { db, principal, body, replay, client }) =>
      createWorkspace(deps, db, principal, body, replay, client),
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
]
