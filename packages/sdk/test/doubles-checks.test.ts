import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLimitCheck } from '@keyrail/contract/ratelimit'
import fc from 'fast-check'
import { toVerdict } from '../../server/src/ratelimit/answer.ts'
import { type Counters, charge } from '../../server/src/ratelimit/fold.ts'
import { answerChecks } from '../src/testing/checks.ts'
import { id } from './keys.ts'

/** Compares the test double with the service. */

const rule = (number: number) =>
  fc.record({
    id: fc.constant(`r${number}`),
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000_000 })),
    window_ms: fc.oneof(fc.constantFrom(1_000, 1_500), fc.integer({ min: 1_000, max: 2_678_400_000 })),
    algorithm: fc.constantFrom('sliding' as const, 'fixed' as const),
    scope: fc.constantFrom('key' as const, 'tenant' as const),
  })
const step = fc.record({
  wait: fc.oneof(fc.integer({ min: 0, max: 700 }), fc.integer({ min: 0, max: 2_678_400_000 })),
  key: fc.integer({ min: 1, max: 2 }),
  tenant: fc.integer({ min: 1, max: 2 }),
  env: fc.constantFrom('live' as const, 'test' as const),
  cost: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 1_000 })),
  raised: fc.boolean(),
})

test('the double answers checks exactly as the service does, for any rules, costs and times', () => {
  fc.assert(
    fc.property(
      fc.tuple(rule(1), rule(2), rule(3)),
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { minLength: 1, maxLength: 40 }),
      (rules, count, steps) => {
        let now = 0
        const double = answerChecks(() => now)['ratelimit/check']
        const subjects = new Map<string, Counters>()
        for (const { wait, key, tenant, env, cost, raised } of steps) {
          now += wait
          // A limit may change; its counter continues.
          const limits = rules
            .slice(0, count)
            .map(each => ({ ...each, limit: each.limit + (raised ? 3 : 0) }))
          const check: RateLimitCheck = {
            ...{ project_id: id(9), env, key_id: id(key), tenant_id: id(0xa0 + tenant), cost, limits },
          }
          const countersOf = (scope: 'key' | 'tenant') => {
            const name = `${env} ${scope} ${scope === 'key' ? key : tenant}`
            const counters = subjects.get(name) ?? []
            subjects.set(name, counters)
            return counters
          }
          const asked = { rules: limits, cost }
          const tally = charge(asked, countersOf, now)
          const of = { workspaceId: '', projectId: '', env, keyId: id(key), tenantId: id(tenant), ...asked }
          assert.deepEqual(double(check), toVerdict(of, tally))
        }
      },
    ),
    { numRuns: 3_000 },
  )
})
