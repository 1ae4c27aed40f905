import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey } from '../../test/keys.ts'
import type { ImportedCustomer } from '../keyring/imported-customer.ts'
import { createGate } from '../protect/request-gate.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { createTestKeyrail } from './keyrail.ts'
import { createTestKeyring, type TestKeyring } from './keyring.ts'
import type { TestKeyringOptions } from './keyring-options.ts'

/** What a gate says of a request with this key: the key, or why it is refused. */
async function admitted(keyring: TestKeyring, presented: string, scopes?: string[]) {
  let code = ''
  const gate = createGate(keyring, {
    getKey: () => presented,
    onVerdict: verdict => {
      code = verdict.code
    },
  })
  const { key } = await gate.admit({ rawHeaders: [] }, { scopes })
  return key ?? code
}

test('a test keyring in shadow refuses nothing at gates, and counts what is compared', async () => {
  const { keys, issue } = createTestKeyrail({ keys: { shadow: true } })
  assert.deepEqual(keys.stats().shadow, { agreed: 0, refusedHere: {}, acceptedHere: 0 })
  const gate = createGate(keys, {})
  const { refusal, verdict } = await gate.admit({ rawHeaders: ['Authorization', 'Bearer old'] })
  assert.deepEqual([refusal, verdict?.code], [undefined, 'malformed_key'])
  keys.compare('old', true)
  keys.compare(issue().key, true)
  assert.deepEqual(keys.stats().shadow, { agreed: 1, refusedHere: { malformed_key: 1 }, acceptedHere: 0 })
})

test('without the option, a test keyring has counts of shadow from its first compare on', () => {
  const keyring = createTestKeyring()
  assert.ok(!('shadow' in keyring.stats()))
  keyring.compare('old', true)
  assert.deepEqual(keyring.stats().shadow?.refusedHere, { malformed_key: 1 })
})

test('while a test keyring cannot judge, onUnavailable decides', () => {
  const own = { valid: true, code: 'valid', keyId: 'k', tenantId: 't', env: 'live', scopes: ['a'] } as const
  const asked: unknown[] = []
  const keyring = createTestKeyring({
    onUnavailable(refusal, key, requirements) {
      asked.push([refusal.code, key, requirements])
      return { ...own, expiresAt: null }
    },
  })
  const { key } = keyring.issue()
  assert.notEqual(keyring.verify(key, { scopes: ['a'] }).code, 'valid')
  assert.deepEqual(asked, [])
  keyring.lose()
  assert.equal(keyring.verify(key, { scopes: ['a'] }).code, 'valid')
  assert.equal(keyring.verify(key, { scopes: ['b'] }).code, 'stale')
  assert.deepEqual(asked[0], ['stale', key, { scopes: ['a'] }])
})

/** A keyring with an own check, which counts its calls. */
function withCheck(old: Readonly<Record<string, ImportedCustomer>>, options: TestKeyringOptions = {}) {
  const asked: string[] = []
  const errors: KeyrailError[] = []
  const keyring = createTestKeyring({
    ...options,
    onError: error => errors.push(error),
    async onUnknownKey(key) {
      asked.push(key)
      return old[key]
    },
  })
  return { keyring, asked, errors }
}

test('a key that onUnknownKey accepts becomes one of the test keyring', async () => {
  const customer = { externalId: 'acme', name: 'before', scopes: ['a'], meta: { plan: 'gold' } }
  const { keyring, asked } = withCheck({ old: customer, other: { tenantId: 'acme' } }, { names: true })
  const known = keyring.issue({ tenantId: 't1', externalId: 'acme', tenantName: 'Acme' })
  assert.equal(keyring.verify('old').code, 'malformed_key')
  const key = await admitted(keyring, 'old', ['a'])
  assert.ok(typeof key === 'object')
  const { tenantId, tenantName, keyName, externalId, meta, env } = key
  assert.deepEqual(
    [tenantId, tenantName, keyName, externalId, meta, env],
    [known.tenantId, 'Acme', 'before', 'acme', { plan: 'gold' }, 'live'],
  )
  assert.equal(await admitted(keyring, 'old', ['b']), 'insufficient_scope')
  const other = await admitted(keyring, 'other')
  assert.equal(typeof other === 'object' && other.externalId, 'acme')
  assert.equal(await admitted(keyring, 'nobody'), 'unknown_key')
  assert.deepEqual(asked, ['old', 'other', 'nobody'])
  keyring.disable({ key: 'old', keyId: key.keyId, tenantId })
  assert.equal(await admitted(keyring, 'old'), 'disabled_key')
  keyring.revoke({ key: 'old', keyId: key.keyId, tenantId })
  assert.equal(await admitted(keyring, 'old'), 'revoked_key')
  assert.equal(asked.length, 3)
})

test('a key of the form of Keyrail that onUnknownKey accepts is no import of another form', async () => {
  const key = drawKey('kr_test')
  const { keyring } = withCheck({ [key]: { tenantId: 't' } }, { env: 'both' })
  const admittedKey = await admitted(keyring, key)
  assert.equal(typeof admittedKey === 'object' && admittedKey.env, 'test')
  assert.equal(keyring.verify('garbage').code, 'malformed_key')
})

test('what onUnknownKey says is read and judged as in production', async () => {
  const old = {
    wrong: { externalId: 'a', scopes: 'a' } as unknown as ImportedCustomer,
    ended: { externalId: 'a', expiresAt: 1 },
    suspended: { externalId: 'unpaid' },
    away: { externalId: 'a' },
  }
  const { keyring, asked, errors } = withCheck(old)
  assert.equal(await admitted(keyring, 'wrong'), 'not_held')
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['own_check_failed'],
  )
  assert.equal(await admitted(keyring, 'ended'), 'malformed_key')
  assert.equal(await admitted(keyring, 'ended'), 'expired_key')
  keyring.suspendTenant('unpaid')
  assert.equal(await admitted(keyring, 'suspended'), 'unknown_key')
  assert.equal(await admitted(keyring, 'suspended'), 'suspended_tenant')
  keyring.lose()
  assert.equal(await admitted(keyring, 'away'), 'stale')
  assert.deepEqual(asked, ['wrong', 'ended', 'suspended'])
})

test('a test keyring takes no wrong or unknown option', () => {
  for (const [wrong, message] of [
    [{ shadow: 'yes' }, /^shadow must be true or false$/],
    [{ onUnavailable: 'allow' }, /^onUnavailable must be a function$/],
    [{ onUnknownKey: true }, /^onUnknownKey must be a function$/],
    [{ importWith: 'krsk' }, /has no option "importWith"$/],
  ] as const)
    assert.throws(() => createTestKeyring(wrong as object), { name: 'TypeError', message })
})
