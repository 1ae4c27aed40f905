import { policyRoutes } from '@keyrail/contract/routes/policy'
import { nodes, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { answerDelta } from './delta.ts'
import { listNodes } from './fleet.ts'
import type { PolicyNeeds } from './needs.ts'
import { answerSnapshot } from './snapshot.ts'

const serve = servedWith<PolicyNeeds>()

export const routes = serve(policyRoutes, {
  'GET /v1/policy/snapshot': {
    access: withinProjects(nodes),
    handle: answerSnapshot,
  },
  'GET /v1/policy/delta': {
    access: withinProjects(nodes),
    handle: answerDelta,
  },
  'GET /v1/projects/:id/nodes': {
    access: withinProjects(readers),
    handle: async (deps, { db, principal, id, query }) => ({
      body: await listNodes({ deps, db, principal }, id, query),
    }),
  },
})
