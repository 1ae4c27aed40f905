import { RateLimitCheck, RateLimitChecks, RateLimitVerdict, RateLimitVerdicts } from '../ratelimit.ts'
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
  'POST /v1/ratelimit/checks': {
    plane: 'hot',
    operation: 'checkRateLimitsOfMany',
    summary: 'Check rate limits of many requests',
    description:
      'Charges up to 100 requests, each to all of its limits or to none, in their order. One that is invalid has its error in its place.',
    permission: 'ratelimit:check',
    body: RateLimitChecks,
    answer: RateLimitVerdicts,
  },
})
