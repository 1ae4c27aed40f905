import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSuspensions } from './harness/suspensions.ts'

test('nodes refuse a suspended tenant, and judge every key as before when it is resumed', async () => {
  // The whole drill, which also judges the time, is `npm run drills -- p19`.
  const { broken, verified, ended, nodes } = await runSuspensions({
    cycles: 5,
    slackMs: Number.POSITIVE_INFINITY,
  })
  assert.deepEqual(broken, [])
  assert.deepEqual([ended, nodes], [5, 10])
  assert.ok(verified > 1_000, `${verified} verifications`)
})
