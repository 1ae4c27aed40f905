import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { barAfter, barAt, roundTop } from '../src/components/bars-scale.ts'

test('the top of a scale is a round number with a whole half, near to the highest bar', () => {
  for (const [most, top] of [
    [0, 2],
    [1, 2],
    [2, 2],
    [3, 4],
    [7, 8],
    [9, 10],
    [10, 10],
    [11, 12],
    [14, 16],
    [99, 100],
    [101, 120],
    [1_204, 1_500],
    [1_000_000, 1_000_000],
    [1_000_001, 1_200_000],
    [8_000_000_000_001, 10_000_000_000_000],
  ] as const)
    assert.equal(roundTop(most), top, `${most}`)
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 2 ** 50 }), most => {
      const top = roundTop(most)
      assert.ok(top >= most && most / top >= 0.7 && Number.isInteger(top / 2), `${most}: ${top}`)
      assert.match(String(top), /^[1-9]\d?0*$/)
    }),
  )
})

test('arrow keys, Page, Home and End lead from bar to bar, and stop at the ends', () => {
  const keys = ['ArrowLeft', 'ArrowRight', 'ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End']
  assert.deepEqual(
    keys.map(key => barAfter(key, 10, 30)),
    [9, 11, 9, 11, 3, 17, 0, 29],
  )
  assert.deepEqual([barAfter('ArrowLeft', 0, 30), barAfter('ArrowRight', 29, 30)], [0, 29])
  for (const key of ['Tab', 'a', 'toString']) assert.equal(barAfter(key, 10, 30), null)
})

test('every pixel of a chart belongs to a bar', () => {
  assert.deepEqual(
    [-0.1, 0, 0.49, 0.5, 1, 1.2].map(share => barAt(share, 2)),
    [0, 0, 0, 1, 1, 1],
  )
})
