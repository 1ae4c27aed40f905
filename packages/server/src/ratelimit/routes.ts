import { ratelimitRoutes } from '@keyrail/contract/routes/ratelimit'
import { nodes, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { answerCheck, answerChecks, type RatelimitNeeds } from './actions.ts'

const serve = servedWith<RatelimitNeeds>()

export const routes = serve(ratelimitRoutes, {
  'POST /v1/ratelimit/check': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await answerCheck(deps, call, call.body) }),
  },
  'POST /v1/ratelimit/checks': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await answerChecks(deps, call) }),
  },
})
