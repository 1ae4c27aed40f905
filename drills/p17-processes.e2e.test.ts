import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetCases } from './harness/fleet-cases.ts'
import { runFleet } from './harness/fleet-run.ts'

test('an action of one process counts in the others, also while one is killed and restarts', async () => {
  const { tried, kills, broken } = await runFleet({ cycles: 2 })
  assert.deepEqual(broken, [])
  assert.equal(kills, 2)
  assert.deepEqual([...tried.keys()], Object.keys(fleetCases))
  for (const [name, { whole, away }] of tried) assert.ok(whole > 0 && away > 0, name)
})
