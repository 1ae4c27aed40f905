import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failuresMax, StartPace } from './start-pace.ts'

test('one that has served is replaced at once, one that ends soon after longer waits', () => {
  const pace = new StartPace()
  assert.deepEqual(
    [60_000, 10_000].map(ms => pace.ended(ms)),
    [0, 0],
  )
  assert.deepEqual(
    [9_999, null, 0].map(ms => pace.ended(ms)),
    [500, 1_000, 2_000],
  )
  assert.equal(pace.ended(60_000), 0)
})

test('after five failed starts in a row there is no other', () => {
  const pace = new StartPace()
  const waits = Array.from({ length: failuresMax }, () => pace.ended(null))
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, null])
})
