import {
  DeletedProject,
  Project,
  ProjectCreate,
  ProjectList,
  Projects,
  ProjectUpdate,
} from '@keyrail/contract/vendor/projects'
import { liveEditors, readers, withinProjects } from '../gate/access.ts'
import { type Route, vendorRoute } from '../gate/route.ts'
import { createProject, deleteProject, getProject, listProjects, updateProject } from './actions.ts'

export const projectRoutes: Route[] = [
  vendorRoute('POST', '/v1/projects', {
    operation: 'createProject',
    summary: 'Create a project: one API to protect',
    access: liveEditors('projects:write'),
    body: ProjectCreate,
    status: 201,
    answer: Project,
    refusals: ['slug_taken'],
    replayable: true,
    handle: (deps, { principal, body, replay }) => createProject(deps, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/projects', {
    operation: 'listProjects',
    summary: 'List projects, newest first',
    access: withinProjects(readers('projects:read')),
    query: ProjectList,
    answer: Projects,
    handle: async (deps, { principal, query }) => ({ body: await listProjects(deps, principal, query) }),
  }),
  vendorRoute('GET', '/v1/projects/:id', {
    operation: 'getProject',
    summary: 'Read a project',
    access: withinProjects(readers('projects:read')),
    answer: Project,
    handle: async (deps, { principal, id }) => ({ body: await getProject(deps, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/projects/:id', {
    operation: 'updateProject',
    summary: 'Change a project; new default limits reach every node with a whole snapshot',
    access: withinProjects(liveEditors('projects:write')),
    body: ProjectUpdate,
    answer: Project,
    refusals: ['slug_taken'],
    handle: async (deps, { principal, id, body }) => ({
      body: await updateProject(deps, principal, id, body),
    }),
  }),
  vendorRoute('DELETE', '/v1/projects/:id', {
    operation: 'deleteProject',
    summary: 'Delete a project and revoke every key under it',
    access: withinProjects(liveEditors('projects:write')),
    answer: DeletedProject,
    handle: async (deps, { principal, id }) => ({ body: await deleteProject(deps, principal, id) }),
  }),
]
