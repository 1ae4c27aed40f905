import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFailovers } from './harness/failover-run.ts'

test('nodes follow a promoted standby, which loses nothing acknowledged if it is synchronous', async () => {
  const { figures, broken } = await runFailovers({ cycles: 1, seed: 1 })
  assert.deepEqual(broken, [])
  const { asynchronous, synchronous } = figures
  assert.ok(asynchronous.lost.keys + asynchronous.lost.revocations > 0, JSON.stringify(asynchronous.lost))
  assert.deepEqual(synchronous.lost, { keys: 0, revocations: 0 })
  for (const { failovers, acknowledged, verdicts } of [asynchronous, synchronous])
    assert.ok(failovers === 1 && acknowledged > 0 && verdicts > 0)
})
