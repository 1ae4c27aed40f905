import { RateLimitCheck, RateLimitVerdict } from '../ratelimit.ts'
import { declareRoutes } from './declare.ts'

export const ratelimitRoutes = declareRoutes({
  'POST /v1/ratelimit/check': {
    plane: 'hot',
    operation: 'checkRateLimits',
    summary: 'Check rate limits',
    description:
      'Charges a request to all of its limits, or to none. The response also has headers that you can send on.',
    permission: 'ratelimit:check',
    body: RateLimitCheck,
    answer: RateLimitVerdict,
    refusals: ['not_found', 'counter_limit_reached'],
  },
})
