import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { drawToken, isWellFormedToken } from '../../../server/src/platform/crypto/token.ts'
import { drawKey, withChecksum } from '../../test/keys.ts'
import { readKeyForm } from './token.ts'

test('every key that the service issues is well formed and has its environment', () => {
  for (const prefix of ['kr', 'ab', 'a1b2c3d4e5f6g7h8']) {
    for (const env of ['live', 'test'] as const) {
      for (let round = 0; round < 200; round++) {
        assert.equal(readKeyForm(drawToken(`${prefix}_${env}`, randomBytes)), env)
      }
    }
  }
})

test('a key with any one character changed, added, cut or swapped is malformed', () => {
  const key = drawKey()
  const wrong = new Set<string>()
  for (let at = 0; at < key.length; at++) {
    for (const other of ['0', 'z', 'A', '_', ' ', '\0', 'é', 'İ', '\ud800', '']) {
      wrong.add(key.slice(0, at) + other + key.slice(at + 1))
      wrong.add(key.slice(0, at) + other + key.slice(at))
    }
    wrong.add(key.slice(0, at))
    wrong.add(key.slice(0, at) + key.charAt(at + 1) + key.charAt(at) + key.slice(at + 2))
  }
  wrong.delete(key)
  for (const text of wrong) assert.equal(readKeyForm(text), 'malformed', JSON.stringify(text))
})

test('a live key whose environment was edited to test is malformed, and so is a foreign case', () => {
  const key = drawKey('kr_live')
  assert.equal(readKeyForm(key.replace('_live_', '_test_')), 'malformed')
  assert.equal(readKeyForm(key.toUpperCase()), 'malformed')
})

test('alternating prefixes and environments are each read correctly', () => {
  for (let round = 0; round < 200; round++) {
    for (const head of ['kr_live', 'kr_test', 'ks_live', 'krr_live', 'a1_test']) {
      const key = drawKey(head)
      assert.equal(readKeyForm(key), head.slice(-4))
      assert.equal(readKeyForm(`x${key.slice(1)}`), 'malformed')
    }
  }
})

test('a right checksum does not make up for a wrong prefix, environment or length', () => {
  const random = '0'.repeat(32)
  for (const head of [
    'k_live_',
    'Kr_live_',
    '1r_live_',
    'k-r_live_',
    'kr_prod_',
    'krlive_',
    'kr__live_',
    '_live_',
  ]) {
    assert.equal(readKeyForm(withChecksum(head + random)), 'malformed', head)
  }
  assert.equal(readKeyForm(withChecksum(`${'a'.repeat(17)}_live_${random}`)), 'malformed')
  assert.equal(readKeyForm(withChecksum(`kr_live_${random}0`)), 'malformed')
  assert.equal(readKeyForm(withChecksum(`kr_live_${random}`)), 'live')
})

test('the SDK and the service accept the same forms of keys', () => {
  const near = fc.tuple(
    fc.constantFrom('kr', 'k', 'a0', 'A0', 'kr_live', ''),
    fc.constantFrom('_live_', '_test_', '_', '__', '_lives_'),
    fc.string({ unit: fc.constantFrom('0', 'a', 'Z', '_', 'é', '-'), minLength: 31, maxLength: 33 }),
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 70 }),
    near.map(parts => parts.join('')),
  )
  fc.assert(
    fc.property(text, fc.boolean(), (body, checked) => {
      const candidate = checked ? withChecksum(body) : body
      // The service's form also allows a credential without an environment, which API keys always have.
      const issued = isWellFormedToken(candidate) && /_(?:live|test)_[0-9A-Za-z]{38}$/.test(candidate)
      assert.equal(readKeyForm(candidate) !== 'malformed', issued)
    }),
    { numRuns: 2_000 },
  )
})
