import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { KeyIds } from './key-ids.ts'

const uuids = fc.uuid()
const others = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  uuids.map(uuid => uuid.toUpperCase()),
  uuids.map(uuid => uuid.replaceAll('-', '')),
  uuids.map(uuid => `${uuid.slice(0, 35)}g`),
  uuids.map(uuid => `${uuid.slice(0, 8)}0${uuid.slice(9)}`),
  uuids.map(uuid => `${uuid.slice(0, 35)}\u0130`),
)

test('an id of any form reads back unchanged, and only it finds its slot', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.oneof(uuids, others), { minLength: 2, maxLength: 20 }), ids => {
      const held = new KeyIds()
      held.reserve(ids.length)
      for (const [slot, id] of ids.entries()) held.set(slot, id)
      held.reserve(2 * ids.length)
      for (const [slot, id] of ids.entries()) {
        assert.equal(held.text(slot), id)
        assert.equal(held.text(slot), id)
        assert.equal(held.seek(id), held.hash(slot))
        assert.deepEqual(
          ids.map((_, other) => held.isSought(other)),
          ids.map((_, other) => other === slot),
        )
      }
    }),
  )
})

test('an id of another form is never taken for a UUID whose 16 bytes are the same', () => {
  const held = new KeyIds()
  held.reserve(2)
  held.set(0, 'other')
  held.words.copyWithin(4, 0, 4)
  held.seek('other')
  assert.deepEqual([held.isSought(0), held.isSought(1)], [true, false])
  held.seek(held.text(1))
  assert.deepEqual([held.isSought(0), held.isSought(1)], [false, true])
})

test('a reused slot has nothing of the previous id', () => {
  const held = new KeyIds()
  held.reserve(1)
  for (const id of ['one', '01930c3e-8f5a-7c31-9b0e-000000000001', 'two']) {
    held.set(0, id)
    assert.equal(held.text(0), id)
    held.clear(0)
  }
  assert.equal(held.others.size, 0)
})
