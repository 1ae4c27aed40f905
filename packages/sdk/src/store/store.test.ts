import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Networks } from './networks.ts'
import type { StoredKey } from './records.ts'
import { Store } from './store.ts'

/** A model of the store: a list, least recently used first. */
class NaiveStore {
  readonly maxKeys: number
  list: StoredKey[] = []
  evictions = 0

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys
  }

  find(digest: string): StoredKey | undefined {
    const found = this.list.find(known => known.digest === digest)
    if (found) this.list = [...this.list.filter(known => known !== found), found]
    return found
  }

  upsert(key: StoredKey): void {
    this.remove(key.keyId, key.digest)
    while (this.list.length >= this.maxKeys) {
      this.list.shift()
      this.evictions++
    }
    this.list.push(key)
  }

  remove(keyId: string, digest: string): void {
    this.list = this.list.filter(key => key.keyId !== keyId && key.digest !== digest)
  }
}

const digests = Array.from({ length: 24 }, (_, number) => digestOf(`key ${number}`))
// Digests that begin alike, so that probes collide.
for (let number = 0; number < 12; number++)
  digests.push(digestOf('one start').slice(0, 4) + digestOf(`${number}`).slice(4))

const someKey = fc.record(
  {
    keyId: fc.nat(29).map(id),
    tenantId: fc.nat(3).map(number => id(0xa000 + number)),
    env: fc.constantFrom('live', 'test'),
    digest: fc.constantFrom(...digests),
    scopes: fc.subarray(['read', 'write', 'admin']),
    rateLimits: fc.option(
      fc.constant([
        { id: 'burst', limit: 5, windowMs: 1000, algorithm: 'fixed' as const, scope: 'key' as const },
      ]),
      { nil: undefined },
    ),
    expiresAt: fc.constantFrom(1_000, 2_000, Number.POSITIVE_INFINITY),
  },
  { noNullPrototype: true },
)

const command = fc.oneof(
  fc.record({ do: fc.constant('upsert' as const), key: someKey }),
  fc.record({
    do: fc.constant('remove' as const),
    keyId: fc.nat(29).map(id),
    digest: fc.constantFrom(...digests),
  }),
  fc.record({ do: fc.constant('find' as const), digest: fc.constantFrom(...digests) }),
  fc.record({ do: fc.constant('clear' as const) }),
)

/** Everything that the store returns for one record. */
function read({ records }: Store, slot: number): StoredKey {
  return {
    keyId: records.keyId(slot),
    tenantId: records.tenantId(slot),
    env: records.env(slot),
    digest: digests.find(digest => records.hasDigest(slot, digest)) ?? 'none',
    scopes: records.scopes(slot),
    rateLimits: records.rateLimits(slot),
    expiresAt: records.end(slot),
  }
}

test('the store equals a plain list, and evicts in the same order', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 16 }),
      fc.array(command, { maxLength: 200 }),
      (maxKeys, commands) => {
        const store = new Store(maxKeys)
        const naive = new NaiveStore(maxKeys)
        for (const step of commands) {
          if (step.do === 'upsert') {
            store.upsert(structuredClone(step.key))
            naive.upsert(step.key)
          } else if (step.do === 'remove') {
            store.remove(step.keyId, step.digest)
            naive.remove(step.keyId, step.digest)
          } else if (step.do === 'clear') {
            store.clear()
            naive.list = []
          } else {
            const slot = store.find(step.digest)
            assert.deepEqual(slot === -1 ? undefined : read(store, slot), naive.find(step.digest))
          }
          assert.equal(store.size, naive.list.length)
          assert.equal(store.evictions, naive.evictions)
        }
        const held = Array.from(store.records.slots(), slot => store.records.keyId(slot))
        assert.deepEqual(held.sort(), naive.list.map(key => key.keyId).sort())
      },
    ),
    { numRuns: 500 },
  )
})

const plain = (number: number, more: Partial<StoredKey> = {}): StoredKey => ({
  keyId: id(number),
  tenantId: id(0xa000),
  env: 'live',
  digest: digestOf(`key ${number}`),
  scopes: ['read'],
  rateLimits: undefined,
  expiresAt: Number.POSITIVE_INFINITY,
  ...more,
})

test('20,000 keys come and go, and only its own digest finds each', () => {
  const store = new Store(20_000)
  for (let number = 0; number < 20_000; number++) store.upsert(plain(number))
  for (let number = 0; number < 20_000; number += 2) store.remove(id(number), digestOf(`key ${number}`))
  assert.equal(store.size, 10_000)
  for (let number = 0; number < 20_000; number++) {
    const slot = store.find(digestOf(`key ${number}`))
    assert.equal(slot === -1 ? 'none' : store.records.keyId(slot), number % 2 ? id(number) : 'none')
  }
})

test('scopes in verdicts are frozen and shared', () => {
  const store = new Store(10)
  store.upsert(plain(1))
  store.upsert(plain(2, { scopes: ['read'] }))
  const scopes = store.records.scopes(store.find(digestOf('key 1')))
  assert.equal(scopes, store.records.scopes(store.find(digestOf('key 2'))))
  assert.throws(() => (scopes as string[]).push('admin'), TypeError)
})

test('a tenant is suspended without a key, a change raises the revision, clearing ends it', () => {
  const store = new Store(10)
  const revisions = [true, true, false, false].map(isSuspended => {
    store.setSuspended('acme', isSuspended)
    return [store.revision, store.suspended.has('acme')]
  })
  assert.deepEqual(revisions, [
    [1, true],
    [1, true],
    [2, false],
    [2, false],
  ])
  store.setSuspended('acme', true)
  store.clear()
  assert.equal(store.suspended.size, 0)
})

const listOf = (number: number) =>
  Networks.read([`10.${number >> 16}.${(number >> 8) & 255}.${number & 255}/32`]) ?? assert.fail()

test('lists of networks that a key had before are not kept in memory', () => {
  const store = new Store(100)
  for (let number = 0; number < 5_000; number++) store.upsert(plain(0, { networks: listOf(number) }))
  const { values } = store.records.shared.networks
  assert.ok(values.length < 300, `${values.length} lists for 1 key`)
  assert.deepEqual(store.records.networks(store.find(digestOf('key 0')))?.texts, listOf(4_999).texts)
})

test('keys that share no value are all kept, and seldom walked through', () => {
  const store = new Store(10_000)
  const seen = new Set<object>()
  for (let number = 0; number < 6_000; number++) {
    const rateLimits = [
      { id: 'all', limit: number + 1, windowMs: 1_000, algorithm: 'fixed', scope: 'key' },
    ] as const
    store.upsert(
      plain(number, {
        tenantId: id(number),
        scopes: [`scope ${number}`],
        rateLimits: [...rateLimits],
        networks: listOf(number),
      }),
    )
    seen.add(store.records.shared)
  }
  assert.equal(store.size, 6_000)
  assert.ok(seen.size < 12, `${seen.size - 1} walks`)
})

test('removed tenants are not kept in memory', () => {
  const store = new Store(10)
  for (let number = 0; number < 20_000; number++) store.upsert(plain(number, { tenantId: id(number) }))
  assert.ok(store.sharedValues < 5_000, `${store.sharedValues} shared values for 10 keys`)
  assert.equal(store.records.tenantId(store.find(digestOf('key 19999'))), id(19_999))
})
