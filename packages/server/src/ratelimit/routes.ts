/**
 * Rate-limit checks. `window.ts` is the arithmetic, `fold.ts` charges all rules or none, `postgres.ts` and
 * `redis/redis.ts` store counters, `counter-rows.ts` and `redis/quota.ts` bound how many there are, `redis/pressure.ts` on a
 * server that is nearly full, and `answer.ts` makes the verdict.
 */

import { ratelimitRoutes } from '@keyrail/contract/routes/ratelimit'
import { nodes, withinProjects } from '../gate/access.ts'
import { assertSeesProject } from '../gate/principal.ts'
import { servedWith } from '../gate/serve.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'
import type { RatelimitNeeds } from './needs.ts'

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
