import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCursors, page } from './cursor.ts'
import { Refusal } from './refusal.ts'

const cursors = createCursors(randomBytes(32))
const refused = (open: () => unknown) =>
  assert.throws(open, error => error instanceof Refusal && error.faults[0]?.path === 'cursor')

test('a cursor opens to the position it was sealed with', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), position => {
      assert.equal(cursors.open('keys', 'w', cursors.seal('keys', 'w', position)), position)
    }),
  )
})

test('a cursor that is changed, or from another list, workspace or service, is refused', () => {
  const cursor = cursors.seal('keys', 'w', 'position')
  refused(() => cursors.open('tenants', 'w', cursor))
  refused(() => cursors.open('keys', 'v', cursor))
  refused(() => createCursors(randomBytes(32)).open('keys', 'w', cursor))
  for (let i = 0; i < cursor.length; i++) {
    const other = cursor[i] === 'A' ? 'B' : 'A'
    refused(() => cursors.open('keys', 'w', cursor.slice(0, i) + other + cursor.slice(i + 1)))
  }
  for (const forged of ['', 'x', '%%%', cursor.slice(0, 10), `${cursor}=`, `${cursor}A`, 'A'.repeat(512)]) {
    refused(() => cursors.open('keys', 'w', forged))
  }
})

test('a page says whether there is more, and the next begins behind its last row', () => {
  const seal = (last: number) => `after ${last}`
  const item = (row: number) => row
  assert.deepEqual(page([1, 2, 3], 2, item, seal), {
    object: 'list',
    data: [1, 2],
    has_more: true,
    next_cursor: 'after 2',
  })
  assert.deepEqual(page([1, 2], 2, item, seal).next_cursor, null)
  assert.deepEqual(page([], 2, item, seal), { object: 'list', data: [], has_more: false, next_cursor: null })
})
