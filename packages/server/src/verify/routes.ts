import { verifyRoutes } from '@keyrail/contract/routes/verify'
import { nodes, withinProjects } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { type VerifyNeeds, verifyKey } from './actions.ts'

const serve = servedWith<VerifyNeeds>()

export const routes = serve(verifyRoutes, {
  'POST /v1/keys/verify': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await verifyKey(deps, call) }),
  },
})
