import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killed, obstacles, runDeliveries } from './harness/leak-deliveries.ts'

const seed = Date.now() % 1_000_000

test(`a failing token leaves the others revoked; redeliveries end it too (seed ${seed})`, async () => {
  const tokens = 9
  const { tallies, broken } = await runDeliveries({ cycles: 1, seed, tokens })
  assert.deepEqual(broken, [])
  assert.deepEqual([...tallies.keys()], [...Object.keys(obstacles), killed])
  for (const [kind, { auditRows, redeliveries, revokedAllTheSame }] of tallies) {
    assert.deepEqual([kind, auditRows, redeliveries], [kind, tokens, 10])
    if (kind !== killed) assert.equal(revokedAllTheSame, tokens - 1)
  }
})
