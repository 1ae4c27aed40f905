import assert from 'node:assert/strict'
import { test } from 'node:test'
import { id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Networks } from '../store/networks.ts'
import { Store } from '../store/store.ts'
import { areTooMany, KEY_BYTES, quotaKeys } from './quota.ts'

const quota = { maxCachedKeys: 10, maxAutoCachedKeys: 10_000, keyMemory: 1_000 * KEY_BYTES }
const longest = (from: number) =>
  Networks.read(Array.from({ length: 32 }, (_, at) => `2001:db8:${from.toString(16)}:${at}:1:2:3:4/128`))

/** @param networksOf the list of each key */
function storeOf(
  keys: number,
  networksOf: (number: number) => Networks | undefined = () => undefined,
): Store {
  const store = new Store(1_000)
  for (let number = 1; number <= keys; number++)
    store.upsert({
      keyId: id(number),
      tenantId: id(0xa000),
      env: 'live',
      digest: digestOf(`key ${number}`),
      scopes: [],
      rateLimits: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
      networks: networksOf(number),
    })
  return store
}

test('networks take of the memory for keys: own ones for each key, and equal ones once', () => {
  const same = quotaKeys(
    quota,
    storeOf(100, () => longest(1)),
  )
  assert.equal(quotaKeys(quota, storeOf(100)), 1_000)
  assert.ok(same > 800 && same < 1_000, String(same))
  assert.ok(quotaKeys(quota, storeOf(100, longest)) < 100)
})

test('networks of tenants take of the memory for keys, and are too many beyond it', () => {
  const store = storeOf(1)
  const networks = longest(1)
  const { bytes = 0 } = networks ?? {}
  for (let number = 0; number < 50; number++) store.setTenantNetworks(`tenant ${number}`, networks)
  const most = Math.floor(quota.keyMemory / (bytes + 128))
  assert.ok(quotaKeys(quota, store) < 1_000 - (50 * bytes) / KEY_BYTES)
  assert.equal(areTooMany(quota, store), false)
  for (let number = 50; number < most; number++) store.setTenantNetworks(`tenant ${number}`, networks)
  assert.equal(areTooMany(quota, store), false)
  const more = { tenantId: 'one more', isSuspended: false, networks: networks ?? null, unreadable: undefined }
  assert.equal(areTooMany(quota, store, [{ ...more, tenantId: 'tenant 1' }]), false)
  assert.equal(areTooMany(quota, store, [more]), true)
  assert.equal(areTooMany({ ...quota, keyMemory: undefined }, store, [more]), false)
  for (let number = 0; number < most; number++) store.setTenantNetworks(`tenant ${number}`, undefined)
  assert.equal(quotaKeys(quota, store), 1_000)
})
