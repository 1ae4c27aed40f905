import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTests, smoke } from './rings.ts'

test('the inner ring has six files that start processes, and the other ring has all the others', () => {
  const [inner, e2e] = [findTests([], ['inner']), findTests([], ['e2e'])]
  assert.equal(smoke.length, 6)
  assert.deepEqual(
    inner.filter(file => file.includes('.e2e.')),
    smoke.toSorted(),
  )
  assert.ok(e2e.length > 0 && e2e.every(file => file.includes('.e2e.') && !inner.includes(file)))
  assert.deepEqual(findTests([], ['inner', 'e2e']), [...inner, ...e2e].toSorted())
})
