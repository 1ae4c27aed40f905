import { endpoint } from './endpoint.ts'

export const listProjects = endpoint('GET /v1/projects')
export const createProject = endpoint('POST /v1/projects')
export const getProject = endpoint('GET /v1/projects/:id')
export const updateProject = endpoint('PATCH /v1/projects/:id')
export const deleteProject = endpoint('DELETE /v1/projects/:id')
export const listProjectNodes = endpoint('GET /v1/projects/:id/nodes')
