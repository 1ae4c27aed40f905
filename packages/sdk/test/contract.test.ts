import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLimit as ContractRateLimit } from '@keyrail/contract/shared'
import { type RateLimit, readRateLimits, toWireRateLimits } from '../src/store/rate-limits.ts'

test('a limit is shown with the SDK’s field names, and sent to the service unchanged', () => {
  const wire: ContractRateLimit = {
    id: 'burst',
    limit: 5,
    window_ms: 1_000,
    algorithm: 'fixed',
    scope: 'key',
  }
  const { window_ms: windowMs, ...rest } = wire
  // The compiler checks the assignment; the SDK has its own type because it ships without the contract.
  const shown: RateLimit = { ...rest, windowMs }
  assert.deepEqual(readRateLimits([wire]), [shown])
  for (const rule of [
    wire,
    { ...wire, algorithm: 'bucket', burst_size: 7, nested: { window_ms: 3 } },
    { id: 'x', units: [1] },
    { window_ms: 1, windowMs: 2 },
    JSON.parse('{"id":"y","__proto__":{"window_ms":1}}'),
  ]) {
    const read = readRateLimits([rule]) ?? []
    assert.equal(JSON.stringify(toWireRateLimits(read)), JSON.stringify([rule]))
    assert.ok(read.every(one => Object.getPrototypeOf(one) === Object.prototype))
  }
  assert.deepEqual(toWireRateLimits([null, 7]), [null, 7])
})
