import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from './ended-keys.ts'
import { createVerify, type Served } from './verify.ts'

/** What `onUnavailable` may let pass: nothing that the node itself knows to have ended. */

const NOW = Date.parse('2027-01-01T00:00:00Z')
const NEVER = Number.POSITIVE_INFINITY
const own = { valid: true, code: 'valid', keyId: 'k', tenantId: id(0xa001), env: 'live', scopes: [] } as const

function setUp() {
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, ended: new EndedKeys(), hits: 0, misses: 0, evictions: 0 }
  const at = { wall: NOW, monotonic: 0 }
  const verify = createVerify(served, {
    env: 'both',
    cachedTtlMs: 60_000,
    clock: { wall: () => at.wall, monotonic: () => at.monotonic },
    onUnavailable: () => ({ ...own, expiresAt: null }),
  })
  let made = 0
  const add = (more: Partial<StoredKey> = {}) => {
    const key = drawKey()
    made += 1
    store.upsert({
      keyId: id(made),
      tenantId: id(0xa000),
      env: 'live',
      digest: digestOf(key),
      scopes: [],
      rateLimits: undefined,
      expiresAt: NEVER,
      ...more,
    })
    return key
  }
  const goStale = () => {
    at.monotonic = 60_000
    at.wall = NOW + 60_000
  }
  return { store, served, add, goStale, code: (key: string) => verify(key).code }
}

test('an own verdict does not bring a key back that was revoked or paused', () => {
  const { store, served, add, goStale, code } = setUp()
  const [lives, revoked] = [add(), add()]
  const paused = drawKey()
  served.ended?.addCause(digestOf(paused), 'disabled')
  served.ended?.add(store.records, store.find(digestOf(revoked)), NOW)
  store.remove(id(2), digestOf(revoked))
  assert.deepEqual([lives, revoked, paused].map(code), ['valid', 'revoked_key', 'disabled_key'])
  goStale()
  assert.deepEqual([lives, revoked, paused].map(code), ['valid', 'stale', 'stale'])
})

test('an own verdict does not lengthen the life of a key that this node holds', () => {
  const { add, goStale, code } = setUp()
  const keys = [
    add({ expiresAt: NOW + 60_001 }),
    add({ expiresAt: NOW + 60_000 }),
    add({ tooOldAt: NOW + 60_000 }),
  ]
  goStale()
  assert.deepEqual(keys.map(code), ['valid', 'stale', 'stale'])
})

test('an own verdict that names another tenant lets no key of a suspended one pass', () => {
  const { store, add, goStale, code } = setUp()
  const [key, other] = [add(), add({ tenantId: id(0xa002) })]
  store.setSuspended(id(0xa000), true)
  goStale()
  assert.deepEqual([code(key), code(other)], ['stale', 'valid'])
})

test('a closed keyring asks for no own verdict', () => {
  const { served, add, code } = setUp()
  const key = add()
  served.store = undefined
  assert.equal(code(key), 'valid')
  served.isClosed = true
  assert.equal(code(key), 'not_ready')
})
