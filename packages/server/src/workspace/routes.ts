import {
  CreatedWorkspace,
  Workspace,
  WorkspaceCreate,
  WorkspaceUpdate,
} from '@keyrail/contract/vendor/workspace'
import { liveEditors, readers } from '../gate/access.ts'
import { type Route, route, vendorRoute } from '../gate/route.ts'
import { createWorkspace, getWorkspace, updateWorkspace } from './actions.ts'

export const workspaceRoutes: Route[] = [
  route('POST', '/v1/workspaces', {
    operation: 'createWorkspace',
    summary: 'Create a workspace, with the first secret key to use it',
    // A person who acts in a workspace as a member changes nothing, and acts in it here as well.
    access: { credentials: ['bootstrap', 'session'], role: 'admin', liveOnly: false, inWorkspace: false },
    body: WorkspaceCreate,
    status: 201,
    answer: CreatedWorkspace,
    refusals: ['slug_taken', 'workspace_limit_reached'],
    replayable: true,
    handle: (deps, { principal, body, replay }) => createWorkspace(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/workspace', {
    operation: 'getWorkspace',
    summary: 'Read the workspace of the credential',
    access: readers('workspace:read'),
    answer: Workspace,
    handle: async (deps, { principal }) => ({ body: await getWorkspace(deps, principal) }),
  }),
  vendorRoute('PATCH', '/v1/workspace', {
    operation: 'updateWorkspace',
    summary: 'Change the workspace of the credential',
    access: liveEditors('workspace:write'),
    body: WorkspaceUpdate,
    answer: Workspace,
    handle: async (deps, { principal, body }) => ({ body: await updateWorkspace(deps, principal, body) }),
  }),
]
