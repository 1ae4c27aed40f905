import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Demand, lowLevel, unitsAhead } from './sizing.ts'

test('the rate is that of the last tenth of a window, or twice maxAgeMs, and fades with demand', () => {
  assert.equal(new Demand(1_000, 5_000).horizonMs, 50)
  const demand = new Demand(3_600_000, 5_000)
  assert.equal(demand.horizonMs, 5_000)
  assert.equal(demand.rate(0), 0)
  for (let at = 0; at < 60_000; at += 10) demand.add(1, at)
  assert.equal(demand.rate(60_000).toFixed(3), '0.100')
  assert.equal((demand.rate(70_000) / demand.rate(60_000)).toFixed(3), (1 / Math.E).toFixed(3))
})

test('a pool is low below what is demanded until an answer comes, and two deviations more', () => {
  assert.equal(lowLevel(0, 100), 0)
  assert.equal(lowLevel(0.4, 0), 0)
  assert.equal(lowLevel(0.4, 2), 3)
  assert.equal(Math.round(lowLevel(0.4, 220)), 131)
})

test('a purchase covers the demand, leaves half, and never exceeds a bound', () => {
  const plenty = {
    ...{ rate: 0.1, horizonMs: 3_000, answerMs: 0, remaining: 1e9 },
    ...{ held: 0, leftMs: 60_000, maxUnits: 1_000 },
  }
  for (const [cost, more, units] of [
    [1, {}, 300],
    [5, {}, 300],
    [1, { answerMs: 500 }, 350],
    [1, { rate: 0 }, 0],
    // A request that finds none buys for all; in the background more are bought while some are left.
    [1, { held: 100 }, 200],
    [0, { held: 100 }, 300],
    [1, { held: 400 }, 0],
    [1, { remaining: 101 }, 50],
    [0, { remaining: 101 }, 50],
    [1, { remaining: 2 }, 0],
    [1, { remaining: 0 }, 0],
    [1, { remaining: -5 }, 0],
    // What the window can still use, and what still comes in time.
    [1, { leftMs: 1_000 }, 100],
    [0, { leftMs: 1_000, held: 30 }, 70],
    [1, { leftMs: 200, answerMs: 200 }, 0],
    [0, { maxUnits: 50 }, 50],
    [0, { maxUnits: 50, held: 40 }, 10],
    [1_000, {}, 0],
    [900, {}, 100],
  ] as const) {
    assert.equal(unitsAhead(cost, { ...plenty, ...more }), units, JSON.stringify([cost, more]))
  }
})
