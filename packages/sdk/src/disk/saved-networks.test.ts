import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { id } from '../../test/keys.ts'
import { accepted, decode, facts, filled, key, scope } from '../../test/saved-stores.ts'
import type { Scope } from '../feed/record.ts'
import { digestOf } from '../runtime/digest.ts'
import { Networks } from '../store/networks.ts'
import type { Store } from '../store/store.ts'
import { encodeSnapshot } from './snapshot-file.ts'

test('suspended tenants read back, and a file is for readers that know of them', () => {
  const asking: Scope = { ...scope, features: ['suspended'] }
  const store = filled(3)
  for (const tenantId of [id(0xa000), 'without a key']) store.setSuspended(tenantId, true)
  const bytes = encodeSnapshot(store, asking, { ...facts, features: ['suspended'] })
  const loaded = accepted(bytes, asking)
  assert.deepEqual([...loaded.store.suspended], [id(0xa000), 'without a key'])
  assert.equal(loaded.store.labels, undefined)
  for (const features of [undefined, ['external_id', 'key_meta']]) {
    const earlier = decode(bytes, { ...scope, features })
    assert.equal('refused' in earlier && earlier.refused, 'scope')
  }
  assert.deepEqual([...accepted(encodeSnapshot(store, scope, facts), asking).store.suspended], [])
})

test('networks read back, and a file is for readers that know of them', () => {
  const asking: Scope = { ...scope, features: ['cidr', 'suspended'] }
  const store = filled(5)
  const [office, home] = [Networks.read(['203.0.113.0/24', '2001:db8::/32']), Networks.read(['192.0.2.1/32'])]
  for (const [number, networks] of [
    [2, office],
    [3, Networks.read([])],
    [4, Networks.read(['203.0.113.0/24', '2001:db8::/32'])],
  ] as const)
    store.upsert(key(number, { networks }))
  // A freed slot is used again, so that what it named before must not stay.
  store.remove(id(1), undefined)
  store.upsert(key(6))
  store.setTenantNetworks(id(0xa001), home)
  store.setTenantNetworks('without a key', office)
  store.setTenantNetworks('unreadable', Networks.unreadable)
  const bytes = encodeSnapshot(store, asking, { ...facts, features: asking.features })
  const { store: read, features } = accepted(bytes, asking)
  assert.deepEqual(features, asking.features)
  const placesIn = (each: Store) =>
    [2, 3, 4, 5, 6].map(number => {
      const networks = each.networksOf(each.find(digestOf(`key ${number}`)))
      return [each.ownNetworks(id(number))?.texts, networks?.texts, networks?.place('203.0.113.9')]
    })
  assert.deepEqual(placesIn(read), placesIn(store))
  // Each list once: those of keys, and the one that only a tenant has.
  assert.equal(read.records.shared.networks.values.length, 3)
  assert.deepEqual(
    [...read.tenantNetworks].map(([tenant, { texts }]) => [tenant, texts]),
    [...store.tenantNetworks].map(([tenant, { texts }]) => [tenant, texts]),
  )
  assert.equal(read.tenantNetworks.get('unreadable'), Networks.unreadable)
  for (const features of [undefined, ['suspended'], ['external_id', 'key_meta', 'suspended']]) {
    const earlier = decode(bytes, { ...scope, features })
    assert.equal('refused' in earlier && earlier.refused, 'scope')
  }
})

test('a file of before networks has none, whatever stands in the words that name them now', () => {
  const store = filled(3)
  store.remove(id(1), undefined)
  store.upsert(key(4))
  const bytes = encodeSnapshot(store, scope, facts)
  const records = bytes.length - 32 - 3 * (16 + 64)
  for (let at = 0; at < 3; at++) bytes.writeInt32LE(7, records + at * 64 + 60)
  const sum = createHash('sha256').update(bytes.subarray(0, -32)).digest()
  const asking: Scope = { ...scope, features: ['cidr'] }
  const { store: read, features } = accepted(Buffer.concat([bytes.subarray(0, -32), sum]), asking)
  assert.deepEqual(
    [features, [...read.records.slots()].map(slot => read.networksOf(slot))],
    [[], Array(3).fill(undefined)],
  )
})
