import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from './ended-keys.ts'
import { createVerify, type Served } from './verify.ts'

const BEGAN = Date.parse('2027-01-01T00:00:00Z')
const NEVER = Number.POSITIVE_INFINITY

function setUp() {
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  let now = BEGAN
  const verify = createVerify(served, {
    env: 'both',
    cachedTtlMs: 60_000,
    clock: { wall: () => now, monotonic: () => 0 },
  })
  let made = 0
  const add = (expiresAt: number, tooOldAt?: number) => {
    const key = drawKey()
    made += 1
    store.upsert({
      keyId: id(made),
      tenantId: id(0xa000),
      env: 'live',
      digest: digestOf(key),
      scopes: [],
      rateLimits: undefined,
      expiresAt,
      tooOldAt,
    })
    return key
  }
  const endOf = (key: string) => {
    const verdict = verify(key)
    return verdict.valid ? verdict.expiresAt : verdict.code
  }
  return { store, add, endOf, setNow: (at: number) => (now = at) }
}

test('the earlier of two ends decides, and the verdict has it', () => {
  const { add, endOf, setNow } = setUp()
  const keys = [
    add(NEVER),
    add(NEVER, BEGAN + 10),
    add(BEGAN + 5, BEGAN + 10),
    add(BEGAN + 10, BEGAN + 5),
    add(BEGAN + 10, BEGAN + 10),
  ]
  assert.deepEqual(keys.map(endOf), [null, BEGAN + 10, BEGAN + 5, BEGAN + 5, BEGAN + 10])
  setNow(BEGAN + 4)
  assert.deepEqual(keys.map(endOf), [null, BEGAN + 10, BEGAN + 5, BEGAN + 5, BEGAN + 10])
  setNow(BEGAN + 5)
  assert.deepEqual(keys.map(endOf), [null, BEGAN + 10, 'expired_key', 'too_old', BEGAN + 10])
  setNow(BEGAN + 10)
  assert.deepEqual(keys.map(endOf), [null, 'too_old', 'expired_key', 'too_old', 'expired_key'])
})

test('a key that goes after its end has the code of this end', () => {
  const { store, add } = setUp()
  const keys = [add(BEGAN), add(NEVER, BEGAN), add(NEVER, BEGAN + 1)]
  const ended = new EndedKeys()
  for (const key of keys) ended.add(store.records, store.find(digestOf(key)), BEGAN)
  assert.deepEqual(
    keys.map(key => ended.refusalOf(digestOf(key))?.code),
    ['expired_key', 'too_old', 'revoked_key'],
  )
})
