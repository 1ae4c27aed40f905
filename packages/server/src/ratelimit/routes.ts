/**
 * Rate-limit checks. `window.ts` is the arithmetic, `fold.ts` charges all rules or none, `postgres.ts` and `redis.ts`
 * store counters, `counter-rows.ts` and `redis-room.ts` bound how many there are, `redis-pressure.ts` on a server that is nearly
 * full, and `answer.ts` makes the verdict.
 */

import { RateLimitCheck, RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { nodes, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import { assertSeesProject } from '../gate/principal.ts'
import type { Route } from '../gate/route.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'
import type { RatelimitNeeds } from './needs.ts'

const { hotRoute } = routesFor<RatelimitNeeds>()

export const ratelimitRoutes: Route<RatelimitNeeds>[] = [
  hotRoute('/v1/ratelimit/check', {
    operation: 'checkRateLimits',
    summary: 'Check rate limits',
    description:
      'Charges a request to all of its limits, or to none. The response also has headers that you can send on.',
    access: withinProjects(nodes('ratelimit:check')),
    body: RateLimitCheck,
    answer: RateLimitVerdict,
    refusals: ['not_found', 'counter_limit_reached'],
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
  }),
]
