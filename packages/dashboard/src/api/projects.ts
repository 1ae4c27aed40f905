import type { FleetNodes, NodeList } from '@keyrail/contract/vendor/nodes'
import type {
  Project,
  ProjectCreate,
  ProjectList,
  Projects,
  ProjectUpdate,
} from '@keyrail/contract/vendor/projects'
import { endpoint } from './endpoint.ts'

export const listProjects = endpoint<{ query: ProjectList; answer: Projects }>('GET', '/v1/projects')
export const createProject = endpoint<{ body: ProjectCreate; answer: Project }>('POST', '/v1/projects')
export const getProject = endpoint<{ id: string; answer: Project }>('GET', '/v1/projects/:id')
export const updateProject = endpoint<{ id: string; body: ProjectUpdate; answer: Project }>(
  'PATCH',
  '/v1/projects/:id',
)
export const deleteProject = endpoint<{ id: string; answer: unknown }>('DELETE', '/v1/projects/:id')
export const listProjectNodes = endpoint<{ id: string; query: NodeList; answer: FleetNodes }>(
  'GET',
  '/v1/projects/:id/nodes',
)
