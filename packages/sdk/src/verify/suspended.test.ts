import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { createVerify, type Requirements, type Served, type VerifyDeps } from './verify.ts'

const NOW = Date.parse('2027-01-01T00:00:00Z')

function setUp({ onUnavailable }: Pick<VerifyDeps, 'onUnavailable'> = {}) {
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  const clock = { wall: () => NOW, monotonic: () => 0 }
  const verify = createVerify(served, { env: 'both', cachedTtlMs: 60_000, clock, onUnavailable })
  const add = (key: string, more: Partial<StoredKey> = {}) =>
    store.upsert({
      keyId: id(1),
      tenantId: id(0xa000),
      env: 'live',
      digest: digestOf(key),
      scopes: [],
      rateLimits: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
      ...more,
    })
  return { store, served, add, code: (key: string, more?: Requirements) => verify(key, more).code }
}

test('a key of a suspended tenant is refused before its expiry and its scopes are looked at', () => {
  const { store, add, code } = setUp()
  const [key, expired, other] = [drawKey(), drawKey(), drawKey()]
  add(key)
  add(expired, { keyId: id(2), expiresAt: NOW })
  add(other, { keyId: id(3), tenantId: id(0xa001) })
  store.setSuspended(id(0xa000), true)
  assert.deepEqual([code(key), code(expired), code(other)], ['suspended_tenant', 'suspended_tenant', 'valid'])
  assert.equal(code(key, { scopes: ['admin'] }), 'suspended_tenant')
  assert.equal(code(key, { env: 'test' }), 'wrong_env')
  store.setSuspended(id(0xa000), false)
  assert.deepEqual([code(key), code(expired)], ['valid', 'expired_key'])
})

test('an own verdict does not let a tenant in that is known to be suspended', () => {
  const own = { valid: true, code: 'valid', keyId: 'k', env: 'live', scopes: [], expiresAt: null } as const
  const tenants = [id(0xa000), id(0xa001)]
  let tenantId = ''
  const { store, served, code } = setUp({ onUnavailable: () => ({ ...own, tenantId }) })
  store.setSuspended(id(0xa000), true)
  served.isPartial = true
  const codes = tenants.map(each => {
    tenantId = each
    return code(drawKey())
  })
  assert.deepEqual(codes, ['not_held', 'valid'])
})
