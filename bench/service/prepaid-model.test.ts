import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Asked, beyondLimits, passedByModel } from './prepaid-model.ts'

const fixed = { id: 'a', limit: 2, window_ms: 1_000, algorithm: 'fixed', scope: 'key' } as const
const sliding = { ...fixed, limit: 10, algorithm: 'sliding' } as const
const passed = (askedAt: number, more: Partial<Asked> = {}): Asked => ({
  ...{ key: 0, askedAt, answeredAt: askedAt, passed: true },
  ...more,
})
const many = (count: number, at: number) => Array.from({ length: count }, () => passed(at))

test('what passes beyond a fixed limit counts, for each key and window', () => {
  assert.equal(beyondLimits([fixed], many(2, 999).concat(many(2, 1_000))), 0)
  assert.equal(beyondLimits([fixed], many(4, 500)), 2)
  assert.equal(beyondLimits([fixed], many(2, 0).concat(passed(0, { key: 1 }))), 0)
  assert.equal(beyondLimits([fixed], many(2, 0).concat(passed(0, { passed: false }))), 0)
  assert.equal(beyondLimits([{ ...fixed, scope: 'tenant' }], many(2, 0).concat(passed(0, { key: 1 }))), 1)
})

test('a sliding limit counts what remains of the window before', () => {
  assert.equal(beyondLimits([sliding], many(10, 0).concat(many(5, 1_500))), 0)
  assert.equal(beyondLimits([sliding], many(10, 0).concat(many(6, 1_500))), 1)
})

test('a request that was under way when a window ended counts where there is room, once', () => {
  const late = passed(999, { answeredAt: 1_001 })
  assert.equal(beyondLimits([fixed], [passed(0), late, ...many(2, 1_002)]), 0)
  assert.equal(beyondLimits([fixed], [...many(2, 0), late, passed(1_002)]), 0)
  assert.equal(beyondLimits([fixed], [...many(2, 0), late, ...many(2, 1_002)]), 1)
})

test('the model passes what fits every limit, less what was lost', () => {
  assert.equal(passedByModel([fixed], many(5, 0), []), 2)
  assert.equal(passedByModel([fixed, { ...sliding, limit: 1 }], many(5, 0), []), 1)
  assert.equal(passedByModel([sliding], [...many(10, 0), ...many(10, 1_500)], []), 15)
  assert.equal(passedByModel([sliding], many(10, 5), [{ key: 0, at: 1, units: 3 }]), 7)
  assert.equal(passedByModel([sliding], many(10, 5), [{ key: 0, at: 1, units: 30 }]), 0)
})
