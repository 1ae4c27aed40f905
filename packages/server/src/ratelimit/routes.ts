import { RateLimitCheck, RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { nodes } from '../gate/access.ts'
import { hotRoute, type Route } from '../gate/route.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'

export const ratelimitRoutes: Route[] = [
  hotRoute('/v1/ratelimit/check', {
    operation: 'checkRateLimits',
    summary: 'Charge a request to its limits, all of them or none',
    access: nodes,
    body: RateLimitCheck,
    answer: RateLimitVerdict,
    async handle({ counters }, { principal, body, until }) {
      const check: Check = {
        workspaceId: principal.workspaceId,
        projectId: body.project_id.toLowerCase(),
        env: body.env,
        keyId: body.key_id?.toLowerCase() ?? null,
        tenantId: body.tenant_id?.toLowerCase() ?? null,
        cost: body.cost ?? 1,
        rules: body.limits,
      }
      return { body: toVerdict(check, await counters.check(check, until)) }
    },
  }),
]
