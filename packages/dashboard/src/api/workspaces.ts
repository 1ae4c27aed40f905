import { endpoint } from './endpoint.ts'

export const createWorkspace = endpoint('POST /v1/workspaces')
export const getWorkspace = endpoint('GET /v1/workspace')
export const updateWorkspace = endpoint('PATCH /v1/workspace')
