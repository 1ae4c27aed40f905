import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withChecksum } from '../../test/keys.ts'
import { createTestKeyring } from './keyring.ts'

test('a test key is verified like a real one: form, environment, scopes, expiry', () => {
  const keyring = createTestKeyring()
  const rateLimits = [{ id: 'a', limit: 1, windowMs: 1_000, algorithm: 'fixed', scope: 'key' }] as const
  const { key, keyId, tenantId } = keyring.issue({ scopes: ['a'], rateLimits, tenantId: 'acme' })
  assert.equal(withChecksum(key.slice(0, -6)), key)
  const verdict = keyring.verify(key, { scopes: ['a'] })
  assert.ok(verdict.valid)
  assert.deepEqual(
    [verdict.keyId, verdict.tenantId, tenantId, verdict.rateLimits],
    [keyId, 'acme', 'acme', rateLimits],
  )
  assert.equal(keyring.verify(key, { scopes: ['b'] }).code, 'insufficient_scope')
  assert.equal(keyring.verify(keyring.issue({ expiresAt: Date.now() - 1 }).key).code, 'expired_key')
  assert.equal(keyring.verify(keyring.issue({ env: 'test' }).key).code, 'wrong_env')
  assert.equal(createTestKeyring().verify(key).code, 'unknown_key')
  assert.equal(keyring.verify(undefined).code, 'missing_key')
})

test('a test keyring suspends a tenant with all its keys, and resumes it', () => {
  const keyring = createTestKeyring()
  const [one, other] = [keyring.issue({ tenantId: 'acme' }), keyring.issue()]
  keyring.suspendTenant('acme')
  const later = keyring.issue({ tenantId: 'acme', expiresAt: Date.now() - 1 })
  const codes = () => [one, later, other].map(({ key }) => keyring.verify(key).code)
  assert.deepEqual(codes(), ['suspended_tenant', 'suspended_tenant', 'valid'])
  keyring.resumeTenant('acme')
  assert.deepEqual(codes(), ['valid', 'expired_key', 'valid'])
})

test('a test key is restricted to its networks, or else to those of its tenant', () => {
  const keyring = createTestKeyring()
  const [own, inheriting, free] = [['203.0.113.0/24', '2001:db8::1'], undefined, []].map(allowedCidrs =>
    keyring.issue({ tenantId: 'acme', allowedCidrs }),
  )
  const codes = (ip?: string) =>
    [own, inheriting, free].map(issued => keyring.verify(issued?.key, { ip }).code)
  assert.deepEqual(codes(), ['ip_unknown', 'valid', 'valid'])
  keyring.setTenantCidrs('acme', ['192.0.2.7'])
  assert.deepEqual(codes(), ['ip_unknown', 'ip_unknown', 'valid'])
  assert.deepEqual(codes('192.0.2.7'), ['ip_not_allowed', 'valid', 'valid'])
  assert.deepEqual(codes('2001:db8::1'), ['valid', 'ip_not_allowed', 'valid'])
  keyring.setTenantCidrs('acme', [])
  assert.deepEqual(codes('203.0.113.255'), ['valid', 'valid', 'valid'])
  for (const [wrong, message] of [
    [['10.0.0.1/8'], /^allowedCidrs\.0 must be an address range/],
    [['::/0', 'x'], /^allowedCidrs\.1 must be/],
    ['10.0.0.0/8', /^allowedCidrs must be an array/],
    [Array(33).fill('::1'), /^allowedCidrs takes at most 32 ranges/],
  ] as const) {
    assert.throws(() => keyring.issue({ allowedCidrs: wrong as string[] }), { name: 'TypeError', message })
    assert.throws(() => keyring.setTenantCidrs('acme', wrong as string[]), { name: 'TypeError', message })
  }
})

test('null in a test key means what it means in the API: the list of the tenant, and no end', () => {
  const keyring = createTestKeyring()
  keyring.setTenantCidrs('acme', ['192.0.2.7'])
  const { key } = keyring.issue({ tenantId: 'acme', allowedCidrs: null, expiresAt: null, tooOldAt: null })
  const verdict = keyring.verify(key, { ip: '192.0.2.7' })
  assert.equal(verdict.valid && verdict.expiresAt, null)
  assert.equal(keyring.verify(key, { ip: '192.0.2.8' }).code, 'ip_not_allowed')
})

test('a test keyring can revoke a key, lose the service and recover', () => {
  const keyring = createTestKeyring({ env: 'both' })
  const [one, other] = [keyring.issue(), keyring.issue({ env: 'test' })]
  keyring.revoke(one)
  assert.deepEqual([keyring.verify(one.key).code, keyring.verify(other.key).code], ['revoked_key', 'valid'])
  keyring.lose()
  assert.equal(keyring.verify(other.key).code, 'stale')
  keyring.recover()
  assert.equal(keyring.verify(other.key).code, 'valid')
})
