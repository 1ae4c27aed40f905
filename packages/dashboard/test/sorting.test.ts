import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextSorting, type SortValue, sortRows } from '../src/components/sorting.ts'

const sorted = (values: readonly SortValue[], isFalling = false) =>
  sortRows(
    values.map(value => ({ value })),
    ({ value }) => value,
    isFalling,
  ).map(({ value }) => value)

test('names sort as people count, whatever their capitals', () => {
  assert.deepEqual(sorted(['key 10', 'Key 9', 'alpha']), ['alpha', 'Key 9', 'key 10'])
  assert.deepEqual(sorted(['key 10', 'Key 9', 'alpha'], true), ['key 10', 'Key 9', 'alpha'])
})

test('a row without a value stands last in both directions', () => {
  const times = ['2026-02-01T00:00:00.000Z', null, '2026-01-01T00:00:00.000Z']
  assert.deepEqual(sorted(times), [times[2], times[0], null])
  assert.deepEqual(sorted(times, true), [times[0], times[2], null])
})

test('numbers sort by value, and equal rows stay in the order of the service', () => {
  assert.deepEqual(sorted([10, 9, -1, 100]), [-1, 9, 10, 100])
  const rows = [
    { id: 'newest', name: 'Same' },
    { id: 'older', name: 'same' },
  ]
  for (const isFalling of [false, true])
    assert.deepEqual(
      sortRows(rows, ({ name }) => name, isFalling).map(({ id }) => id),
      ['newest', 'older'],
    )
})

test('a header sorts rising, then falling, then as the service does', () => {
  const first = nextSorting(null, 'Name')
  assert.deepEqual(first, { header: 'Name', isFalling: false })
  const second = nextSorting(first, 'Name')
  assert.deepEqual(second, { header: 'Name', isFalling: true })
  assert.equal(nextSorting(second, 'Name'), null)
  assert.deepEqual(nextSorting(second, 'Created'), { header: 'Created', isFalling: false })
})
