import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { idMaker } from './ids.ts'

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids are UUIDv7 that rise in order, even within a millisecond or if the clock steps back', () => {
  const times = [1000, 1000, 1000, 1001, 900, 900, 1002]
  let at = 0
  const makeId = idMaker({ now: () => times[at++] ?? 2000, monotonic: () => 0 }, randomBytes)
  const ids = Array.from({ length: 500 }, makeId)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, shape)
})
