import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../platform/refusal.ts'
import { Exports, exportsMax, holdMs } from './exports.ts'

const isRefused = (error: unknown) =>
  error instanceof Refusal && error.code === 'too_many_requests' && error.headers['retry-after'] === '5'

function startAll() {
  const time = { now: 0 }
  const exports = new Exports(() => time.now)
  const cut: string[] = []
  const begin = (name: string, callerId = 'reader') => exports.begin(name, callerId, () => cut.push(name))
  const places = new Map(Array.from({ length: exportsMax }, (_, i) => [`w${i}`, begin(`w${i}`)]))
  return { time, exports, cut, begin, places }
}

test('a workspace has one export at a time', () => {
  const { exports, begin, places, cut } = startAll()
  assert.throws(() => begin('w0'), isRefused)
  assert.deepEqual([exports.underWay, cut], [exportsMax, []])
  places.get('w0')?.end()
  begin('w0')
})

test('an export ends for another caller of its workspace, but not in its first 30 s', () => {
  const { time, exports, cut, begin, places } = startAll()
  time.now = holdMs - 1
  assert.throws(() => begin('w0', 'owner'), isRefused)
  time.now = holdMs
  assert.throws(() => begin('w0'), isRefused, 'the same caller has it')
  const later = begin('w0', 'owner')
  assert.deepEqual([cut, exports.underWay], [['w0'], exportsMax])
  places.get('w0')?.end()
  assert.equal(exports.underWay, exportsMax, 'the first has no place to give back')
  later.end()
  assert.equal(exports.underWay, exportsMax - 1)
})

test('when all places are taken, the slowest export ends, but not in its first 30 s', () => {
  const { time, exports, cut, begin, places } = startAll()
  time.now = holdMs - 1
  assert.throws(() => begin('late'), isRefused)
  assert.deepEqual(cut, [])
  time.now = holdMs
  for (const [name, place] of places) place.took(name === 'w7' ? 10 : 1_000_000)
  const late = begin('late')
  assert.deepEqual([cut, exports.underWay], [['w7'], exportsMax])
  // Its stream closes a moment later, which must not release the place of the new export.
  places.get('w7')?.end()
  assert.equal(exports.underWay, exportsMax)
  late.end()
  assert.equal(exports.underWay, exportsMax - 1)
})
