import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKeyring } from './keyring.ts'

const rateLimits = [{ id: 'a', limit: 1, windowMs: 1_000, algorithm: 'fixed', scope: 'key' }] as const

test('a test key that was disabled comes back exactly as it was', () => {
  const keyring = createTestKeyring({ labels: true })
  const issued = keyring.issue({
    ...{ tenantId: 'acme', scopes: ['a'], rateLimits, allowedCidrs: ['192.0.2.0/24'] },
    ...{ expiresAt: Date.now() + 60_000, keyName: 'ci', tenantName: 'Acme', meta: { plan: 'gold' } },
  })
  const judged = (ip = '192.0.2.7') => keyring.verify(issued.key, { ip })
  const before = judged()
  assert.deepEqual([before.valid, before.valid && before.tenantName], [true, 'Acme'])
  for (const pause of [() => keyring.disable(issued), () => keyring.revoke(issued, 'disabled')]) {
    pause()
    pause()
    assert.equal(judged().code, 'disabled_key')
    keyring.enable(issued)
    keyring.enable(issued)
    assert.deepEqual(judged(), before)
    assert.equal(judged('198.51.100.1').code, 'ip_not_allowed')
  }
  assert.equal(keyring.verify('garbage').code, 'malformed_key')
})

test('a disabled test key of another system comes back, and ends when it is revoked', () => {
  const keyring = createTestKeyring()
  const issued = keyring.issue({ key: 'old-key-text', scopes: ['a'] })
  const before = keyring.verify('old-key-text')
  keyring.disable(issued)
  keyring.enable(issued)
  assert.deepEqual(keyring.verify('old-key-text'), before)
  keyring.disable(issued)
  keyring.revoke(issued)
  assert.equal(keyring.verify('old-key-text').code, 'revoked_key')
})

test('a test key that has ended is neither disabled nor enabled', () => {
  const keyring = createTestKeyring()
  const refused = { name: 'TypeError', message: /is neither disabled nor enabled/ }
  const ended = (['revoked', 'suspended', 'expired', 'deleted'] as const).map(cause => {
    const issued = keyring.issue()
    keyring.revoke(issued, cause)
    return issued
  })
  for (const issued of [...ended, keyring.issue({ expiresAt: 1 }), createTestKeyring().issue()]) {
    const { code } = keyring.verify(issued.key)
    assert.throws(() => keyring.enable(issued), refused)
    assert.throws(() => keyring.disable(issued), refused)
    assert.equal(keyring.verify(issued.key).code, code)
  }
})

test('a given text of the form of Keyrail is no import', () => {
  const keyring = createTestKeyring()
  const { key } = createTestKeyring().issue()
  keyring.issue({ key })
  assert.deepEqual([keyring.verify(key).code, keyring.verify('garbage').code], ['valid', 'malformed_key'])
  keyring.issue({ key: 'old-key-text' })
  assert.equal(keyring.verify('garbage').code, 'unknown_key')
})
