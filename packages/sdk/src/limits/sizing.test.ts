import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Demand, unitsToCharge } from './sizing.ts'

test('demand is that of the last twentieth of a window, at most of maxAgeMs', () => {
  assert.equal(new Demand(1_000, 5_000).horizonMs, 50)
  const demand = new Demand(3_600_000, 5_000)
  assert.equal(demand.horizonMs, 5_000)
  for (let at = 100_000; at < 110_000; at += 10) demand.add(1, at)
  assert.equal(Math.round(demand.units(110_000)), 500)
  assert.equal(demand.units(200_000), 0)
})

test('a purchase covers the demand, leaves four fifths, and never exceeds a bound', () => {
  const plenty = { demand: 300, remaining: 1e9, held: 0, maxUnits: 1_000 }
  for (const [cost, more, units] of [
    [1, {}, 301],
    [5, {}, 305],
    [1, { demand: 0 }, 1],
    [1, { held: 100 }, 201],
    [1, { held: 400 }, 1],
    [1, { remaining: 1_000 }, 201],
    [1, { remaining: 4 }, 1],
    [1, { remaining: 0 }, 1],
    [1, { maxUnits: 50 }, 51],
    [1_000, {}, 1_000],
    [900, {}, 1_000],
  ] as const) {
    assert.equal(unitsToCharge(cost, { ...plenty, ...more }), units, JSON.stringify(more))
  }
})
