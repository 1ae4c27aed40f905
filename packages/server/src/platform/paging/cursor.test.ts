import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../refusal.ts'
import { createCursors, page } from './cursor.ts'
import { type Listed, pageLimits } from './listed.ts'

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

const seal = (last: number) => `after ${last}`
const item = (row: number) => row
const listed = (rows: number[], bytes = 0, isCut = false): Listed<number> => ({ rows, bytes, isCut })

test('a page says whether there is more, and the next begins behind its last row', () => {
  assert.deepEqual(page(listed([1, 2, 3]), 2, item, seal), {
    object: 'list',
    data: [1, 2],
    has_more: true,
    next_cursor: 'after 2',
  })
  assert.deepEqual(page(listed([1, 2]), 2, item, seal).next_cursor, null)
  assert.deepEqual(page(listed([]), 2, item, seal), {
    object: 'list',
    data: [],
    has_more: false,
    next_cursor: null,
  })
})

test('a page whose other rows were left out in the store has a cursor', () => {
  const { data, next_cursor } = page(listed([1, 2], 10, true), 200, item, seal)
  assert.deepEqual([data, next_cursor], [[1, 2], 'after 2'])
})

test('a page ends before it is larger than 4 MiB, but has at least one item', () => {
  const { bytesMax } = pageLimits
  assert.equal(bytesMax, 4 * 1_048_576)
  const ofBytes = (bytes: number) => () => 'é'.repeat(bytes / 2)
  for (const [rows, bytes, expected] of [
    [200, 65_536, 63],
    [200, 8_192, 200],
    [2, bytesMax - 2_048, 1],
    [2, 2 * bytesMax, 1],
    [1, 2 * bytesMax, 1],
  ] as const) {
    const all = Array.from({ length: rows }, (_, i) => i + 1)
    const made = page(listed(all, rows * bytes), 200, ofBytes(bytes), seal)
    assert.equal(made.data.length, expected, `${rows} of ${bytes} bytes`)
    assert.equal(made.next_cursor, expected < rows ? `after ${expected}` : null)
    if (expected > 1) assert.ok(Buffer.byteLength(JSON.stringify(made)) <= bytesMax)
  }
})
