import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endings, floods } from './harness/right-cases.ts'
import { faultsOf, runRights } from './harness/right-run.ts'

for (const [name, cases] of Object.entries({ endings, floods }))
  test(`${name}: each right is flooded with and ends`, async () => {
    const ended = await runRights({ cases, cycles: 1, floodMs: 500 })
    assert.deepEqual(
      ended.map(one => one.name),
      Object.keys(cases),
    )
    for (const one of ended) {
      // How long it took is judged by the drill, on a machine that does nothing else.
      assert.deepEqual(faultsOf({ ...one, ms: 0 }), [])
      // Otherwise nothing was flooded.
      assert.ok(Object.keys(one.tally).length > 0, one.name)
    }
  })

test('a slow or refused end, and a right that lives on, break the promise', () => {
  const name = 'a key is revoked'
  assert.deepEqual(faultsOf({ name, ms: 1_000, statuses: [200, 401], tally: {} }), [])
  assert.deepEqual(faultsOf({ name, ms: 1_000, statuses: [201, null], tally: {} }), [])
  assert.equal(faultsOf({ name, ms: 1_001, statuses: [503, 200], tally: {} }).length, 3)
})
