import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOfQuarantine } from './quarantine.ts'

const entry = { file: 'a.test.ts', test: 'holds', since: '2026-03-01', cause: 'reads between two writes' }
const day = (text: string) => Date.parse(text)

test('an entry stays seven days, and is a fault after them', () => {
  assert.deepEqual(faultsOfQuarantine([entry], day('2026-03-08')), [])
  assert.deepEqual(faultsOfQuarantine([entry], day('2026-03-09')), [
    '"holds" in a.test.ts has been there since 2026-03-01, over 7 days',
  ])
})

test('five entries may stand, six may not', () => {
  const entries = (length: number) => Array.from({ length }, () => entry)
  assert.deepEqual(faultsOfQuarantine(entries(5), day('2026-03-02')), [])
  assert.deepEqual(faultsOfQuarantine(entries(6), day('2026-03-02')), ['6 entries, of at most 5'])
})

test('an entry without cause, test or a day that can be read is a fault', () => {
  for (const part of [{ cause: '' }, { test: '' }, { since: 'last week' }]) {
    assert.match(faultsOfQuarantine([{ ...entry, ...part }], day('2026-03-02')).join(), /an entry lacks/)
  }
})
