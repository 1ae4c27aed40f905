import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOfQuarantine } from './quarantine.ts'

const entry = { file: 'a.test.ts', test: 'holds', since: '2026-03-01', cause: 'reads between two writes' }
const day = (text: string) => Date.parse(text)
const faults = (entries: Parameters<typeof faultsOfQuarantine>[0], today: string) =>
  faultsOfQuarantine(entries, [{ page: 'docs/page.md', file: 'b.test.ts', name: 'is promised' }], day(today))

test('an entry stays seven days, and is a fault after them', () => {
  assert.deepEqual(faults([entry], '2026-03-08'), [])
  assert.deepEqual(faults([entry], '2026-03-09'), [
    '"holds" in a.test.ts has been there since 2026-03-01, over 7 days',
  ])
})

test('five entries may stand, six may not', () => {
  const entries = (length: number) => Array.from({ length }, () => entry)
  assert.deepEqual(faults(entries(5), '2026-03-02'), [])
  assert.deepEqual(faults(entries(6), '2026-03-02'), ['6 entries, of at most 5'])
})

test('an entry without cause, test or a day that can be read is a fault', () => {
  for (const part of [{ cause: '' }, { test: '' }, { since: 'last week' }]) {
    assert.match(faults([{ ...entry, ...part }], '2026-03-02').join(), /an entry lacks/)
  }
})

test('an entry from a day that is yet to come would never age, and is a fault', () => {
  assert.deepEqual(faults([entry], '2026-02-27'), [
    '"holds" in a.test.ts is there since 2026-03-01, which is yet to come',
  ])
})

test('a race, a drill, an invariant and a test that a page names cannot be quarantined', () => {
  for (const [file, name] of [
    ['packages/server/test/races/pairs.test.ts', 'holds'],
    ['drills/p06-claims.e2e.test.ts', 'holds'],
    ['packages/server/test/invariants.test.ts', 'holds'],
    ['b.test.ts', 'each: is promised'],
  ] as const) {
    const [fault = ''] = faults([{ ...entry, file, test: name }], '2026-03-02')
    assert.match(fault, /guards a promise/, file)
  }
  assert.deepEqual(faults([{ ...entry, file: 'b.test.ts' }], '2026-03-02'), [])
})
