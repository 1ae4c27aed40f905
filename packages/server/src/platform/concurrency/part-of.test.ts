import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partOf } from './part-of.ts'

test('processes have no more together than one has, and each has something', () => {
  for (const whole of [1, 2, 3, 6, 60, 256, 25_000])
    for (const processes of [1, 2, 3, 7, 64]) {
      const part = partOf(whole, processes)
      assert.ok(part >= 1 && (part === 1 || part * processes <= whole), `${whole} ${processes}`)
    }
  assert.equal(partOf(60, 1), 60)
  assert.equal(partOf(0, 2), 0)
})
