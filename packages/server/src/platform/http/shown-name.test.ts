import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { shownName } from './shown-name.ts'

test('names of fields are shown, also unknown ones', () => {
  const names = ['allowed_cidrs', 'max_key_lifetime_days', 'defaultRateLimitsOfAll', 'x-1', '7', '__proto__']
  assert.deepEqual(names.map(shownName), names)
})

test('a name that could be a key or a digest is not shown, however it is spelled', () => {
  const digest = createHash('sha256').update('key').digest()
  const secrets = [
    digest.toString('hex'),
    digest.toString('hex').toUpperCase(),
    digest.toString('base64'),
    digest.toString('base64url'),
    'krsk_live_0123456789abcdefghijklmnopqrstuvwxyzAB',
    'sk-a1B2c3D4e5F6g7H8',
    'org_17,sk-a1B2c3D4',
    'x'.repeat(41),
  ]
  for (const secret of secrets) assert.equal(shownName(secret), '…', secret)
})

test('what JSON cannot hold is shown as a replacement', () => {
  assert.equal(shownName('a\0\ud800'), 'a\ufffd\ufffd')
})
