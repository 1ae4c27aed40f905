import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences } from './dump.ts'

const dump = (rows: Record<string, string[]>) => new Map(Object.entries(rows))

test('two equal dumps have no differences', () => {
  assert.deepEqual(differences(dump({ a: ['1', '2'] }), dump({ a: ['1', '2'] })), [])
})

test('an added, missing, changed or doubled row and a new table are each a difference', () => {
  const before = dump({ a: ['1', '2'] })
  for (const after of [
    { a: ['1'] },
    { a: ['1', '2', '3'] },
    { a: ['1', '3'] },
    { a: ['1', '2', '2'] },
    { a: ['1', '2'], b: ['1'] },
  ])
    assert.notDeepEqual(differences(before, dump(after)), [])
})
