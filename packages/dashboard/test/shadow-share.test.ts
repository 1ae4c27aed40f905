import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareInWords } from '../src/screens/projects/shadow-share.ts'

test('a share is whole only if there is no difference', () => {
  assert.deepEqual(
    [shareInWords(1, 0), shareInWords(1_000_000, 1), shareInWords(0, 3), shareInWords(2, 1)],
    ['100%', '99.9%', '0%', '66.6%'],
  )
})
