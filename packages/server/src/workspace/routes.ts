import { workspaceRoutes } from '@keyrail/contract/routes/workspace'
import { liveEditors, readers } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { createWorkspace, getWorkspace, updateWorkspace } from './actions.ts'
import { adoptWorkspace } from './adopt.ts'
import type { WorkspaceNeeds } from './needs.ts'
import { giveUpWorkspace, keepWorkspace } from './unproven.ts'

const serve = servedWith<WorkspaceNeeds>()

export const routes = serve(workspaceRoutes, {
  'POST /v1/workspaces': {
    // A member may not write in the current workspace, and so may not create another one from within it.
    access: { credentials: ['bootstrap', 'session'], role: 'admin', liveOnly: false, inWorkspace: false },
    handle: async (deps, { db, principal, body, replay, client }) => {
      const made = await createWorkspace({ deps, db, principal }, body, replay, client)
      if (made.replayed === undefined) deps.metrics.workspaceCreated()
      return made
    },
  },
  'GET /v1/workspace': {
    access: readers,
    handle: async (_, { db, principal }) => ({ body: await getWorkspace(db, principal) }),
  },
  'PATCH /v1/workspace': {
    access: liveEditors,
    handle: async (deps, { db, principal, body, client }) => ({
      body: await updateWorkspace({ deps, db, principal }, body, client),
    }),
  },
  'POST /v1/auth/workspaces/adopt': {
    handle: async (deps, { db, principal, body, client }) => ({
      body: await adoptWorkspace({ deps, db, principal }, body.secret_key, { ip: client.ip }),
    }),
  },
  'POST /v1/auth/workspaces/:id/keep': {
    handle: async (deps, { db, principal, id }) => ({
      body: await keepWorkspace({ deps, db, principal }, id),
    }),
  },
  'DELETE /v1/auth/workspaces/:id': {
    endsRights: true,
    target: 'own_workspace',
    handle: async (deps, { db, principal, id }) => ({
      body: await giveUpWorkspace({ deps, db, principal }, id),
    }),
  },
})
