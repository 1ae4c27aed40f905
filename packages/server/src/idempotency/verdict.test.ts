import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judge, type SeenRecord } from './verdict.ts'

const now = 1_000_000
const time = fc.constantFrom(now - 1, now, now + 1, now + 30_000)
const print = fc.constantFrom('a', 'b')
const token = fc.constantFrom('mine', 'other')
const record: fc.Arbitrary<SeenRecord> = fc
  .record({
    fingerprint: print,
    lockToken: token,
    lockedUntil: time,
    expiresAt: time,
    status: fc.option(fc.integer({ min: 100, max: 599 })),
    answerBytes: fc.option(fc.integer({ min: 0, max: 5_000_000 })),
  })
  .map(made => (made.status === null ? { ...made, answerBytes: null } : made))
const claimant = fc.record({ fingerprint: print, lockToken: fc.constant('mine') })

const check = (property: (seen: SeenRecord, fingerprint: string) => void) =>
  fc.assert(
    fc.property(record, claimant, (seen, { fingerprint }) => property(seen, fingerprint)),
    {
      numRuns: 2_000,
    },
  )
const others = (property: (seen: SeenRecord, fingerprint: string) => void) =>
  check((seen, fingerprint) => property({ ...seen, lockToken: 'other' }, fingerprint))
const ask = (seen: SeenRecord | null, fingerprint: string) =>
  judge(seen, { fingerprint, lockToken: 'mine' }, now)

test('a missing record may be taken', () => assert.equal(ask(null, 'a'), null))

test('the claim that holds the record wins it again, in any state of the record', () => {
  check((seen, fingerprint) => {
    if (seen.lockToken !== 'mine') return
    assert.deepEqual(ask(seen, fingerprint), { verdict: 'execute', lockedUntil: seen.lockedUntil })
  })
})

test('a record whose lock runs is never taken, even when its time to live is over', () => {
  others((seen, fingerprint) => {
    if (seen.status === null && seen.lockedUntil > now) assert.notEqual(ask(seen, fingerprint), null)
  })
})

test('any claim may take a record without a lock and without time left', () => {
  others((seen, fingerprint) => {
    if (seen.expiresAt <= now && seen.lockedUntil <= now) assert.equal(ask(seen, fingerprint), null)
  })
})

test('only the same request takes over a lock that has ended', () => {
  others((seen, fingerprint) => {
    if (seen.status !== null || seen.lockedUntil > now || seen.expiresAt <= now) return
    const expected = fingerprint === seen.fingerprint ? null : { verdict: 'mismatch' }
    assert.deepEqual(ask(seen, fingerprint), expected)
  })
})

test('a different request learns that it differs, and nothing else', () => {
  others((seen, fingerprint) => {
    if (fingerprint === seen.fingerprint) return
    const verdict = ask(seen, fingerprint)
    if (verdict !== null) assert.deepEqual(verdict, { verdict: 'mismatch' })
  })
})

test('the same request learns how long the lock lasts, or the stored answer', () => {
  others((seen, fingerprint) => {
    if (fingerprint !== seen.fingerprint) return
    const verdict = ask(seen, fingerprint)
    if (verdict === null) return
    const { status, lockToken, answerBytes, lockedUntil } = seen
    if (status === null)
      assert.deepEqual(verdict, { verdict: 'in_progress', retryAfterMs: lockedUntil - now })
    else if (answerBytes === null) assert.deepEqual(verdict, { verdict: 'not_replayable', status })
    else assert.deepEqual(verdict, { verdict: 'replay', status, lockToken, answerBytes })
  })
})
