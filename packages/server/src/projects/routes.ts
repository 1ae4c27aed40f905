import {
  DeletedProject,
  Project,
  ProjectCreate,
  ProjectList,
  Projects,
  ProjectUpdate,
} from '@keyrail/contract/vendor/projects'
import { liveEditors, readers, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { createProject, deleteProject, getProject, listProjects, updateProject } from './actions.ts'
import type { ProjectNeeds } from './needs.ts'

const { vendorRoute } = routesFor<ProjectNeeds>()

export const projectRoutes: Route<ProjectNeeds>[] = [
  vendorRoute('POST', '/v1/projects', {
    operation: 'createProject',
    summary: 'Create a project',
    description: 'Creates a project, which is one API to protect.',
    access: liveEditors('projects:write'),
    body: ProjectCreate,
    status: 201,
    answer: Project,
    refusals: ['slug_taken'],
    replayable: true,
    handle: (deps, { db, principal, body, replay }) => createProject(deps, db, principal, body, replay),
  }),
  vendorRoute('GET', '/v1/projects', {
    operation: 'listProjects',
    summary: 'List projects',
    description: 'Returns projects, newest first.',
    access: withinProjects(readers('projects:read')),
    query: ProjectList,
    answer: Projects,
    handle: async (deps, { db, principal, query }) => ({
      body: await listProjects(deps, db, principal, query),
    }),
  }),
  vendorRoute('GET', '/v1/projects/:id', {
    operation: 'getProject',
    summary: 'Get a project',
    description: 'Returns a project by its id.',
    access: withinProjects(readers('projects:read')),
    answer: Project,
    handle: async (_, { db, principal, id }) => ({ body: await getProject(db, principal, id) }),
  }),
  vendorRoute('PATCH', '/v1/projects/:id', {
    operation: 'updateProject',
    summary: 'Update a project',
    description:
      "Replaces the fields that the body names. New default limits reach your servers with a full snapshot of the project's keys. Keys keep the scopes that they have.",
    access: withinProjects(liveEditors('projects:write')),
    body: ProjectUpdate,
    answer: Project,
    refusals: ['slug_taken'],
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateProject(deps, db, principal, id, body),
    }),
  }),
  vendorRoute('DELETE', '/v1/projects/:id', {
    operation: 'deleteProject',
    summary: 'Delete a project',
    description: 'Deletes the project and revokes every key that it has. Its slug is free again.',
    access: withinProjects(liveEditors('projects:write')),
    answer: DeletedProject,
    target: 'project',
    handle: async (deps, { db, principal, id }) => ({ body: await deleteProject(deps, db, principal, id) }),
  }),
]
