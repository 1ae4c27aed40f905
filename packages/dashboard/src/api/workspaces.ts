import type {
  CreatedWorkspace,
  Workspace,
  WorkspaceCreate,
  WorkspaceUpdate,
} from '@keyrail/contract/vendor/workspace'
import { endpoint } from './endpoint.ts'

export const createWorkspace = endpoint<{ body: WorkspaceCreate; answer: CreatedWorkspace }>(
  'POST',
  '/v1/workspaces',
)
export const getWorkspace = endpoint<{ answer: Workspace }>('GET', '/v1/workspace')
export const updateWorkspace = endpoint<{ body: WorkspaceUpdate; answer: Workspace }>(
  'PATCH',
  '/v1/workspace',
)
