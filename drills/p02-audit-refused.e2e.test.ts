import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mutationsOf } from '../packages/server/test/mutations.ts'
import { refuseAll } from './harness/refusals.ts'
import { onStage } from './harness/stage.ts'

test('while the audit log cannot be written, every mutating route answers 5xx, unchanged', async () => {
  const { refused, broken } = await onStage(stage =>
    refuseAll(stage, ['insert raises', 'no right to insert'], () => {}),
  )
  assert.deepEqual(broken, [])
  assert.ok(refused.length >= 16)
})

test('a new mutating route without an entry fails the walk', () => {
  const added = { operation: 'renameTheWorld', method: 'POST', path: '/v1/world' }
  assert.throws(() => mutationsOf([added]), /renameTheWorld: POST \/v1\/world/)
})
