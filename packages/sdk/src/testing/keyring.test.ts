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
