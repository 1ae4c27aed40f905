import {
  DeletedProject,
  Project,
  ProjectCreate,
  ProjectList,
  Projects,
  ProjectUpdate,
} from '../vendor/projects.ts'
import { declareRoutes } from './declare.ts'

export const projectRoutes = declareRoutes({
  'POST /v1/projects': {
    plane: 'vendor',
    operation: 'createProject',
    summary: 'Create a project',
    description: 'Creates a project, which is one API to protect.',
    permission: 'projects:write',
    body: ProjectCreate,
    status: 201,
    answer: Project,
    refusals: ['slug_taken'],
    replayable: true,
  },
  'GET /v1/projects': {
    plane: 'vendor',
    operation: 'listProjects',
    summary: 'List projects',
    description: 'Returns projects, newest first.',
    permission: 'projects:read',
    query: ProjectList,
    answer: Projects,
  },
  'GET /v1/projects/:id': {
    plane: 'vendor',
    operation: 'getProject',
    summary: 'Get a project',
    description: 'Returns a project by its id.',
    permission: 'projects:read',
    answer: Project,
  },
  'PATCH /v1/projects/:id': {
    plane: 'vendor',
    operation: 'updateProject',
    summary: 'Update a project',
    description:
      "Replaces the fields that the body names. New default limits reach your servers with a full snapshot of the project's keys. Keys keep the scopes that they have.",
    permission: 'projects:write',
    body: ProjectUpdate,
    answer: Project,
    refusals: ['slug_taken'],
  },
  'DELETE /v1/projects/:id': {
    plane: 'vendor',
    operation: 'deleteProject',
    summary: 'Delete a project',
    description: 'Deletes the project and revokes every key that it has. Its slug is free again.',
    permission: 'projects:write',
    answer: DeletedProject,
    refusals: ['protected'],
  },
})
