import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onStage } from './harness/stage.ts'
import { tamper } from './harness/tampering.ts'

const first = Date.now() % 4

test(`a forged chain fails at its first bad row, an erased address is valid (from ${first})`, async () => {
  const { kinds, broken } = await onStage(stage => tamper(stage, { rows: 6, every: 4, first }))
  assert.deepEqual(broken, [])
  assert.ok(kinds.size >= 15, `only ${[...kinds.keys()]}`)
  assert.ok([...kinds.values()].every(({ tried, right }) => tried > 0 && tried === right))
})
