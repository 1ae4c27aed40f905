import { explainRoutes } from '@keyrail/contract/routes/explain'
import { editors, readers, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { type ExplainNeeds, explainKey, explainText } from './actions.ts'

const serve = servedWith<ExplainNeeds>()

export const routes = serve(explainRoutes, {
  'GET /v1/keys/:id/explain': {
    access: withinProjects(readers),
    handle: async (deps, call) => ({ body: await explainKey(deps, call, call.id, call.query) }),
  },
  'POST /v1/keys/explain': {
    access: withinProjects(editors),
    handle: async (deps, call) => ({ body: await explainText(deps, call, call.body) }),
  },
})
