import { ratelimitRoutes } from '@keyrail/contract/routes/ratelimit'
import { nodes, withinProjects } from '../gate/access.ts'
import { assertSeesProject } from '../gate/principal.ts'
import { servedWith } from '../gate/serve.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'
import type { CounterStore } from './store.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
interface RatelimitNeeds {
  readonly counters: Pick<CounterStore, 'check'>
  readonly countRateLimit: (verdict: 'allowed' | 'denied') => void
}

const serve = servedWith<RatelimitNeeds>()

export const routes = serve(ratelimitRoutes, {
  'POST /v1/ratelimit/check': {
    access: withinProjects(nodes),
    async handle({ counters, countRateLimit }, { principal, body, deadline }) {
      assertSeesProject(principal, body.project_id)
      const check: Check = {
        workspaceId: principal.workspaceId,
        projectId: body.project_id.toLowerCase(),
        env: body.env,
        keyId: body.key_id?.toLowerCase() ?? null,
        tenantId: body.tenant_id?.toLowerCase() ?? null,
        cost: body.cost ?? 1,
        rules: body.limits,
      }
      const verdict = toVerdict(check, await counters.check(check, deadline))
      countRateLimit(verdict.allowed ? 'allowed' : 'denied')
      return { body: verdict }
    },
  },
})
