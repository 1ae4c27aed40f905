import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RateLimit } from '@keyrail/contract/shared'
import fc from 'fast-check'
import { draftsOf, faultOfDrafts, faultsOf, newDraft, rulesOf } from '../src/components/limit-draft.ts'
import { limitInWords, limitsInWords } from '../src/components/limits-in-words.ts'

const rule: RateLimit = { id: 'burst', limit: 100, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }

test('a limit reads as a person says it', () => {
  assert.equal(limitInWords(rule), '100 requests a minute, sliding, per key')
  const others: RateLimit[] = [
    { ...rule, limit: 1, window_ms: 1_000, algorithm: 'fixed', scope: 'tenant' },
    { ...rule, limit: 1_000_000, window_ms: 86_400_000 },
    { ...rule, window_ms: 900_000 },
    { ...rule, window_ms: 1_500 },
  ]
  assert.deepEqual(others.map(limitInWords), [
    '1 request a second, fixed, per tenant',
    '1,000,000 requests a day, sliding, per key',
    '100 requests every 15 minutes, sliding, per key',
    '100 requests every 1.5 seconds, sliding, per key',
  ])
  assert.equal(limitsInWords([]), 'No limits')
})

test('the editor gives back every limit that the service accepts, unchanged', () => {
  const limits = fc.uniqueArray(
    fc.record({
      id: fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,63}$/),
      limit: fc.integer({ min: 1, max: 1_000_000_000 }),
      window_ms: fc.integer({ min: 1_000, max: 2_678_400_000 }),
      algorithm: fc.constantFrom('sliding' as const, 'fixed' as const),
      scope: fc.constantFrom('key' as const, 'tenant' as const),
    }),
    { maxLength: 8, selector: ({ id }) => id },
  )
  fc.assert(
    fc.property(limits, given => {
      const drafts = draftsOf(given)
      assert.equal(faultOfDrafts(drafts), null)
      assert.deepEqual(
        rulesOf(drafts),
        given.map(one => ({ ...one })),
      )
    }),
  )
})

test('what the service would refuse is marked at its field', () => {
  const first = newDraft([])
  const faultsWith = (change: object) => Object.keys(faultsOf({ ...first, ...change }, [first]))
  assert.deepEqual(faultsWith({}), [])
  assert.deepEqual(faultsWith({ limit: '1,000' }), [])
  assert.deepEqual(faultsWith({ limit: '' }), ['limit'])
  assert.deepEqual(faultsWith({ limit: '1.5' }), ['limit'])
  assert.deepEqual(faultsWith({ amount: '32', unit: 'day' }), ['amount'])
  assert.deepEqual(faultsWith({ amount: 'soon' }), ['amount'])
  assert.deepEqual(faultsWith({ id: 'Burst' }), ['id'])
  const twin = { ...newDraft([first]), id: first.id }
  assert.equal(faultOfDrafts([first, twin]), 'Fix the marked fields.')
})
