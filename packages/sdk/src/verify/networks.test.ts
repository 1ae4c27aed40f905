import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Networks } from '../store/networks.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { createVerify, type Requirements, type Served, type VerifyDeps } from './verify.ts'

const NOW = Date.parse('2027-01-01T00:00:00Z')
const [acme, office, away] = [id(0xa000), '203.0.113.7', '198.51.100.1']

function setUp({ onUnavailable }: Pick<VerifyDeps, 'onUnavailable'> = {}) {
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  const time = { now: 0 }
  const clock = { wall: () => NOW, monotonic: () => time.now }
  const verify = createVerify(served, { env: 'both', cachedTtlMs: 60_000, clock, onUnavailable })
  const add = (number: number, cidrs?: readonly string[], more: Partial<StoredKey> = {}) => {
    const key = drawKey()
    store.upsert({
      keyId: id(number),
      tenantId: acme,
      env: 'live',
      digest: digestOf(key),
      scopes: ['read'],
      rateLimits: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
      networks: cidrs && Networks.read(cidrs),
      ...more,
    })
    return key
  }
  const restrict = (cidrs: readonly string[]) => store.setTenantNetworks(acme, Networks.read(cidrs))
  const code = (key: string, more?: Requirements | null) => verify(key, more as Requirements).code
  return { store, served, time, add, restrict, code }
}

test('the networks of a key count, or else those of its tenant, and none allow every address', () => {
  const { store, add, restrict, code } = setUp()
  const [own, none, free] = [add(1, ['203.0.113.0/24']), add(2), add(3, [])]
  const codes = (ip?: string | null) => [own, none, free].map(key => code(key, { ip }))
  assert.deepEqual(codes(), ['ip_unknown', 'valid', 'valid'])
  assert.deepEqual(codes(office), ['valid', 'valid', 'valid'])
  restrict(['198.51.100.0/24'])
  assert.deepEqual(codes(null), ['ip_unknown', 'ip_unknown', 'valid'])
  assert.deepEqual(codes(office), ['valid', 'ip_not_allowed', 'valid'])
  assert.deepEqual(codes(away), ['ip_not_allowed', 'valid', 'valid'])
  store.setTenantNetworks(acme, undefined)
  assert.deepEqual(codes('nowhere'), ['ip_unknown', 'valid', 'valid'])
})

test('the address is judged behind the expiry and before the scopes, and only where a list is', () => {
  const { store, add, restrict, code } = setUp()
  const touched = { ip: { toString: () => assert.fail('read') } } as unknown as Requirements
  assert.equal(code(add(1), touched), 'valid')
  const [expired, key] = [add(2, ['::1/128'], { expiresAt: NOW }), add(3, ['::1/128'])]
  assert.equal(code(expired), 'expired_key')
  assert.deepEqual(
    [undefined, null, {}, touched].map(each => code(key, each)),
    Array(4).fill('ip_unknown'),
  )
  assert.equal(code(key, { scopes: ['write'], ip: office }), 'ip_not_allowed')
  assert.equal(code(key, { scopes: ['write'], ip: '::1' }), 'insufficient_scope')
  assert.equal(code(key, { scopes: ['read'], ip: '::1' }), 'valid')
  restrict(['192.0.2.0/24'])
  store.setSuspended(acme, true)
  assert.equal(code(key), 'suspended_tenant')
})

test('the keys of a tenant whose list cannot be read are refused from everywhere', () => {
  const { store, add, code } = setUp()
  const [own, inheriting] = [add(1, ['203.0.113.0/24']), add(2)]
  store.setTenantNetworks(acme, Networks.unreadable)
  for (const ip of [undefined, office, 'x']) assert.equal(code(inheriting, { ip }), 'ip_not_allowed')
  assert.equal(code(own, { ip: office }), 'valid')
})

test('an own verdict does not let a caller in from outside of networks that are known', () => {
  const own = { valid: true, code: 'valid', keyId: 'k', tenantId: acme, env: 'live', scopes: [] } as const
  const { served, time, add, restrict, code } = setUp({ onUnavailable: () => ({ ...own, expiresAt: null }) })
  const [key, free] = [add(1, ['203.0.113.0/24']), add(2, [])]
  restrict(['198.51.100.0/24'])
  const unknown = drawKey()
  served.isPartial = true
  // Of a key that is not held the own list is unknown, so that of its tenant counts.
  assert.deepEqual(
    [undefined, office, away].map(ip => code(unknown, { ip })),
    ['not_held', 'not_held', 'valid'],
  )
  time.now = 60_000
  assert.deepEqual(
    [undefined, office, away].map(ip => [code(key, { ip }), code(free, { ip })]),
    [
      ['stale', 'valid'],
      ['valid', 'valid'],
      ['stale', 'valid'],
    ],
  )
  // Nothing is known of anybody before the first snapshot.
  served.store = undefined
  assert.equal(code(key), 'valid')
})

test('an own verdict is asked for with what the request requires', () => {
  const asked: unknown[] = []
  const { served, code } = setUp({
    onUnavailable(refusal, _key, requirements) {
      asked.push(requirements)
      return refusal
    },
  })
  served.isPartial = true
  assert.equal(code(drawKey(), { scopes: ['read'], ip: office }), 'not_held')
  assert.deepEqual(asked, [{ scopes: ['read'], ip: office }])
})
