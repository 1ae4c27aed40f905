import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Cell,
  cellAt,
  fits,
  mulDivDown,
  type Rule,
  remaining,
  resetMs,
  retryMs,
  used,
} from './window.ts'

const rule = (over: Partial<Rule> = {}): Rule => ({
  id: 'burst',
  limit: 100,
  window_ms: 60_000,
  algorithm: 'sliding',
  scope: 'key',
  ...over,
})

/** The sum as it is written down, in fractions: previous · (1 − f) + current + cost ≤ limit. */
const fitsExactly = (
  { previous, current, start }: Cell,
  { limit, window_ms, algorithm }: Rule,
  cost: number,
  now: number,
) => {
  const window = BigInt(window_ms)
  const left = algorithm === 'fixed' ? 0n : window - BigInt(Math.max(0, now - start))
  return BigInt(previous) * left + BigInt(current + cost) * window <= BigInt(limit) * window
}

const amount = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_000_000_000 }))
const situation = fc
  .record({
    limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000_000 })),
    window_ms: fc.oneof(
      fc.integer({ min: 1_000, max: 1_050 }),
      fc.integer({ min: 1_000, max: 2_678_400_000 }),
    ),
    algorithm: fc.constantFrom<Rule['algorithm']>('sliding', 'fixed'),
    previous: amount,
    current: amount,
    cost: fc.integer({ min: 0, max: 1_000 }),
    window: fc.integer({ min: 1, max: 600 }),
    into: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  })
  .map(({ limit, window_ms, algorithm, previous, current, cost, window, into }) => ({
    rule: rule({ limit, window_ms, algorithm }),
    cell: { start: window * window_ms, previous, current },
    cost,
    now: window * window_ms + Math.floor(into * window_ms),
  }))

test('a product beyond 2^53 is divided to the last unit', () => {
  const whole = fc.integer({ min: 0, max: 2 ** 32 })
  fc.assert(
    fc.property(whole, whole, fc.integer({ min: 1, max: 2 ** 32 }), (a, b, c) => {
      const exact = (BigInt(a) * BigInt(b)) / BigInt(c)
      fc.pre(exact < 2n ** 53n)
      assert.equal(BigInt(mulDivDown(a, b, c)), exact)
    }),
    { numRuns: 20_000 },
  )
})

test('a cost fits exactly if the formula in exact fractions says so', () => {
  fc.assert(
    fc.property(situation, ({ rule, cell, cost, now }) => {
      assert.equal(fits(cell, rule, cost, now), fitsExactly(cell, rule, cost, now))
    }),
    { numRuns: 20_000 },
  )
})

test('remaining is the largest cost that still fits', () => {
  fc.assert(
    fc.property(situation, ({ rule, cell, now }) => {
      const left = remaining(cell, rule, now)
      if (left > 0) assert.ok(fitsExactly(cell, rule, left, now))
      assert.ok(!fitsExactly(cell, rule, left + 1, now))
    }),
    { numRuns: 20_000 },
  )
})

test('the retry time is the first millisecond at which the cost fits', () => {
  fc.assert(
    fc.property(situation, ({ rule, cell, cost, now }) => {
      const wait = retryMs(cell, rule, cost, now)
      if (wait === null) return assert.ok(cost > rule.limit)
      const fitsAt = (at: number) => fitsExactly(cellAt(cell, rule, at), rule, cost, at)
      assert.ok(fitsAt(now + wait), `after ${wait} ms`)
      if (wait > 0) assert.ok(!fitsAt(now + wait - 1), `a millisecond before ${wait} ms`)
    }),
    { numRuns: 20_000 },
  )
})

test('the retry time is what waiting millisecond by millisecond finds', () => {
  fc.assert(
    fc.property(
      fc.record({
        limit: fc.integer({ min: 1, max: 12 }),
        algorithm: fc.constantFrom<Rule['algorithm']>('sliding', 'fixed'),
        previous: fc.integer({ min: 0, max: 15 }),
        current: fc.integer({ min: 0, max: 15 }),
        cost: fc.integer({ min: 0, max: 14 }),
        into: fc.integer({ min: 0, max: 999 }),
      }),
      ({ limit, algorithm, previous, current, cost, into }) => {
        const own = rule({ limit, algorithm, window_ms: 1_000 })
        const cell = { start: 5_000, previous, current }
        const now = 5_000 + into
        let found: number | null = null
        for (let wait = 0; wait <= 2_000 && found === null; wait++) {
          if (fitsExactly(cellAt(cell, own, now + wait), own, cost, now + wait)) found = wait
        }
        assert.equal(retryMs(cell, own, cost, now), found)
      },
    ),
    { numRuns: 500 },
  )
})

test('a window ends at its last millisecond: −1, 0 and +1 ms around it', () => {
  const own = rule({ window_ms: 1_000 })
  const cell = { start: 5_000, previous: 0, current: 40 }
  assert.deepEqual(cellAt(cell, own, 5_999), cell)
  assert.deepEqual(cellAt(cell, own, 6_000), { start: 6_000, previous: 40, current: 0 })
  assert.deepEqual(cellAt(cell, own, 6_001), { start: 6_000, previous: 40, current: 0 })
  assert.equal(used(cellAt(cell, own, 6_000), own, 6_000), 40)
  assert.equal(used(cellAt(cell, own, 6_001), own, 6_001), 40)
  assert.equal(used(cellAt(cell, own, 6_025), own, 6_025), 39)
  assert.deepEqual(cellAt(cell, own, 6_999), { start: 6_000, previous: 40, current: 0 })
  assert.deepEqual(cellAt(cell, own, 7_000), { start: 7_000, previous: 0, current: 0 })
  assert.equal(resetMs(cell, own, 5_999), 1)
  assert.equal(resetMs(cellAt(cell, own, 6_000), own, 6_000), 1_000)
})

test('a clock that is set back forgives nothing: the current window continues', () => {
  const own = rule({ limit: 10, window_ms: 1_000 })
  const cell = { start: 6_000, previous: 4, current: 7 }
  for (const now of [5_999, 5_000, 1]) {
    assert.deepEqual(cellAt(cell, own, now), cell)
    assert.equal(used(cell, own, now), 11)
    assert.ok(!fits(cell, own, 1, now))
    // Two units must slide away: one that already exceeds the limit, and one for the cost.
    assert.equal(retryMs(cell, own, 1, now), 6_500 - now)
  }
})

test('any span d admits at most 1 + d/w of the limit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 30 }),
      fc.array(fc.record({ step: fc.integer({ min: 0, max: 400 }), cost: fc.integer({ min: 1, max: 5 }) }), {
        minLength: 1,
        maxLength: 200,
      }),
      (limit, steps) => {
        const own = rule({ limit, window_ms: 1_000 })
        let now = 10_000
        let cell: Cell | undefined
        const admitted: { at: number; cost: number }[] = []
        for (const { step, cost } of steps) {
          now += step
          cell = cellAt(cell, own, now)
          if (!fits(cell, own, cost, now)) continue
          cell = { ...cell, current: cell.current + cost }
          admitted.push({ at: now, cost })
        }
        for (const first of admitted) {
          for (const last of admitted) {
            const span = last.at - first.at
            if (span < 0 || span >= own.window_ms) continue
            const sum = admitted
              .filter(({ at }) => at >= first.at && at <= last.at)
              .reduce((total, { cost }) => total + cost, 0)
            assert.ok(sum <= limit * (1 + span / own.window_ms) + 1e-9, `${sum} in ${span} ms of ${limit}`)
          }
        }
      },
    ),
    { numRuns: 100 },
  )
})
