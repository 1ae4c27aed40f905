import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longNamesIn, testNameLengthMax } from './test-names.ts'

const named = (length: number) => `\ntest('${'a'.repeat(length)}', () => {})\n`

test('a name of as many characters as are allowed is none too long, and one more is', () => {
  assert.deepEqual(longNamesIn(named(testNameLengthMax)), [])
  assert.deepEqual(longNamesIn(named(testNameLengthMax + 1)), [
    { line: 2, name: 'a'.repeat(testNameLengthMax + 1) },
  ])
})
