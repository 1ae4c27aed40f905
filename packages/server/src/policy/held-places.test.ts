import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeldPlaces } from './held-places.ts'

test('a workspace that holds fewer polls gets a place of the one that holds most', () => {
  const places = new HeldPlaces({ all: 6, ofWorkspace: 5 })
  const ended: string[] = []
  const take = (workspace: string, name: string, isTest = false) => {
    const leave = places.take(workspace, isTest, () => {
      ended.push(name)
      leave?.()
    })
    return leave
  }
  const large = Array.from({ length: 5 }, (_, i) => take('large', `large ${i}`))
  assert.equal(take('large', 'one more'), null)
  for (const name of ['a', 'b', 'c']) assert.notEqual(take('small', name), null, name)
  assert.deepEqual([ended, places.held], [['large 0', 'large 1'], { all: 6, mostOfOne: 3 }])
  assert.equal(take('small', 'd'), null, 'neither holds more')
  assert.notEqual(take('third', 'e'), null)
  for (const leave of large) leave?.()
  large[3]?.()
  assert.deepEqual([ended.at(-1), places.held], ['large 2', { all: 4, mostOfOne: 3 }])
})

test('test keys hold at most half of the places of their workspace', () => {
  const places = new HeldPlaces({ all: 10, ofWorkspace: 5 })
  const take = (isTest: boolean) => places.take('one', isTest, () => {})
  const tests = [take(true), take(true), take(true)]
  assert.equal(take(true), null)
  assert.notEqual(take(false), null)
  tests[0]?.()
  assert.notEqual(take(true), null)
})
