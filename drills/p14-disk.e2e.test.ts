import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runDamage } from './harness/disk-damage.ts'

test('a damaged disk snapshot is refused or right', async () => {
  // `npm run drills -- p14` tries every byte and every bit.
  const { tried, broken } = await runDamage({ cycles: 4, seed: Date.now() % 1_000_000, stride: 37 })
  assert.deepEqual(broken, [])
  assert.equal(tried.length, 18)
  const taken = tried.filter(({ taken }) => taken > 0).map(({ damage }) => damage)
  assert.deepEqual(taken, [
    'none',
    'none, a minute old',
    'none, confirmed since',
    'its confirmation, any one bit turned',
    'its confirmation, cut off after any byte',
    'killed while it writes',
  ])
})
