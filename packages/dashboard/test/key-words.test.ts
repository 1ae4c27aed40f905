import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Key } from '@keyrail/contract/vendor/keys'
import fc from 'fast-check'
import { newDraft } from '../src/components/limit-draft.ts'
import { faultOfMeta } from '../src/components/meta-text.ts'
import { changesOf } from '../src/screens/keys/key-changes.ts'
import { draftLimits, faultOfLimits, readLimits } from '../src/screens/keys/limits-value.ts'
import { axisOf } from '../src/screens/keys/lives.ts'
import { mayBeSecret, wholeKeyIn } from '../src/screens/keys/whole-key.ts'

test('limits survive the editor: inherited, none and own ones', () => {
  const own = [{ id: 'burst', limit: 5, window_ms: 90_500, algorithm: 'fixed', scope: 'tenant' } as const]
  for (const limits of [null, [], own]) assert.deepEqual(readLimits(draftLimits(limits)), limits)
  assert.equal(faultOfLimits(draftLimits(own)), null)
  const twice = { kind: 'own', rules: [newDraft([]), newDraft([])] } as const
  assert.match(faultOfLimits(twice) ?? '', /Fix the marked fields/)
})

test('a key of a service that knows no pauses is not paused', () => {
  const key = { revoked_at: null, expires_at: null } as Key
  assert.deepEqual(changesOf(key, false), ['edit', 'rotate', 'pause', 'revoke'])
})

test('invalid JSON has a line with its fault, in any browser', () => {
  assert.equal(faultOfMeta('{ "plan": "pro" }'), null)
  assert.equal(faultOfMeta('{\n  "a": 1,\n}'), 'Line 3: expected a name in double quotes.')
  assert.equal(faultOfMeta('{\n  "a": 1'), 'Line 2: expected a comma or }, found the end.')
  assert.match(faultOfMeta('[1]') ?? '', /^Line 1: metadata is an object/)
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', '}', ',', '"', 'x', '\n'), (text, place, put) => {
      const at = place % text.length
      const broken = text.slice(0, at) + put + text.slice(at + 1)
      const fault = faultOfMeta(broken)
      if (fault !== null) assert.match(fault, /^Line \d+: /, broken)
    }),
  )
})

test('what shows more of a key than its display prefix counts as a secret', () => {
  const key = `kr_live_${'x'.repeat(38)}`
  for (const text of ['kr_live_AbCd', 'acme_test_AbCd', 'my_long_report_name', 'kr_', 'Billing'])
    assert.ok(!mayBeSecret(text), text)
  for (const text of ['kr_live_AbCdE', key, `Bearer ${key}`, `krses_${'x'.repeat(20)}`])
    assert.ok(mayBeSecret(text), text)
  assert.equal(wholeKeyIn('kr_live_AbCdE'), null)
  assert.equal(wholeKeyIn(` Bearer ${key}\n`), key)
})

test('an axis of time has three places that differ, and says which is now', () => {
  const now = Date.UTC(2027, 0, 31, 12)
  for (const span of [60_000, 3_600_000, 86_400_000, 5 * 86_400_000, 400 * 86_400_000]) {
    assert.equal(axisOf(now - span, now, now)[2], 'Now')
    const labels = axisOf(now - span * 2, now + span, now)
    assert.equal(new Set(labels).size, labels.length, labels.join(' | '))
  }
})
