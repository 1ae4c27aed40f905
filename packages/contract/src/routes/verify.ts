import { KeyVerdict, KeyVerify } from '../verify.ts'
import { declareRoutes } from './declare.ts'

export const verifyRoutes = declareRoutes({
  'POST /v1/keys/verify': {
    plane: 'hot',
    operation: 'verifyKey',
    summary: 'Verify a key',
    description:
      'Judges a key that a customer has sent, charges its limits, and counts the request. Every verdict is a 200. Limits need `ratelimit:check` too. Servers with the SDK verify keys in memory.',
    permission: 'keys:verify',
    body: KeyVerify,
    answer: KeyVerdict,
    refusals: ['not_found', 'counter_limit_reached'],
  },
})
