import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLimit as ContractRateLimit } from '@keyrail/contract/shared'
import { type RateLimit, readRateLimits } from '../src/store/rate-limits.ts'

test('a limit as the contract has it is a limit as the SDK shows it, and one of a newer contract too', () => {
  const told: ContractRateLimit = {
    id: 'burst',
    limit: 5,
    window_ms: 1_000,
    algorithm: 'fixed',
    scope: 'key',
  }
  // The compiler holds the assignment; the SDK has a type of its own because it ships without the contract.
  const shown: RateLimit = told
  assert.deepEqual(readRateLimits([shown]), [told])
  const newer = { ...told, algorithm: 'bucket', colour: 'red' } satisfies RateLimit & { colour: string }
  assert.deepEqual(readRateLimits([newer]), [newer])
})
