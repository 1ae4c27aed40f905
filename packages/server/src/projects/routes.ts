import { projectRoutes } from '@keyrail/contract/routes/projects'
import { liveEditors, readers, withinProjects } from '../gate/access.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import { servedWith } from '../gate/serve.ts'
import { createProject, deleteProject, getProject, listProjects, updateProject } from './actions.ts'

const serve = servedWith<CommonNeeds>()

export const routes = serve(projectRoutes, {
  'POST /v1/projects': {
    access: liveEditors,
    handle: (deps, { db, principal, body, replay }) => createProject({ deps, db, principal }, body, replay),
  },
  'GET /v1/projects': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, query }) => ({
      body: await listProjects({ deps, db, principal }, query),
    }),
  },
  'GET /v1/projects/:id': {
    access: withinProjects(readers),
    handle: async (_, { db, principal, id }) => ({ body: await getProject(db, principal, id) }),
  },
  'PATCH /v1/projects/:id': {
    access: withinProjects(liveEditors),
    handle: async (deps, { db, principal, id, body }) => ({
      body: await updateProject({ deps, db, principal }, id, body),
    }),
  },
  'DELETE /v1/projects/:id': {
    access: withinProjects(liveEditors),
    target: 'project',
    handle: async (deps, { db, principal, id }) => ({
      body: await deleteProject({ deps, db, principal }, id),
    }),
  },
})
