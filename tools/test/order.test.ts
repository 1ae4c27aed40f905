import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestFirst } from './newest.ts'
import { dearestFirst } from './times.ts'

test('the dearest file begins first; a seed repeats its order, another one moves equals', () => {
  const files = ['a', 'b', 'c', 'd', 'dear']
  const times = { a: 1, b: 1, c: 1, d: 1, dear: 30 }
  const orders = Array.from({ length: 20 }, (_, seed) => dearestFirst(files, times, seed))
  assert.ok(orders.every(([first]) => first === 'dear'))
  assert.deepEqual(dearestFirst(files, times, 3), orders[3])
  assert.ok(new Set(orders.map(order => order.join())).size > 5)
})

test('what changed last comes first, and keeps its order within a folder', () => {
  const changed: Record<string, number> = { drills: 1, 'packages/embed': 3, docs: 2 }
  const files = ['drills/b.test.ts', 'docs/a.test.ts', 'packages/embed/test/z.test.ts', 'drills/a.test.ts']
  assert.deepEqual(
    newestFirst(files, folder => changed[folder] ?? 0),
    ['packages/embed/test/z.test.ts', 'docs/a.test.ts', 'drills/b.test.ts', 'drills/a.test.ts'],
  )
})
