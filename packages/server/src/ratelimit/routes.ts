import { RateLimitCheck, RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { nodes, withinProjects } from '../gate/access.ts'
import { assertSeesProject } from '../gate/principal.ts'
import { hotRoute, type Route } from '../gate/route.ts'
import { toVerdict } from './answer.ts'
import type { Check } from './fold.ts'

export const ratelimitRoutes: Route[] = [
  hotRoute('/v1/ratelimit/check', {
    operation: 'checkRateLimits',
    summary: 'Charge a request to its limits, all of them or none',
    access: withinProjects(nodes('ratelimit:check')),
    body: RateLimitCheck,
    answer: RateLimitVerdict,
    refusals: ['not_found', 'counter_limit_reached'],
    async handle({ counters }, { principal, body, until }) {
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
      return { body: toVerdict(check, await counters.check(check, until)) }
    },
  }),
]
