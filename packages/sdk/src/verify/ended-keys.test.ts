import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from './ended-keys.ts'

const NOW = Date.parse('2027-01-01T00:00:00Z')

function storeOf(keys: readonly string[], expiresAt = Number.POSITIVE_INFINITY): Store {
  const store = new Store(100)
  for (const [number, key] of keys.entries()) {
    store.upsert({
      keyId: id(number),
      tenantId: id(0xa000),
      env: 'live',
      digest: digestOf(key),
      scopes: [],
      rateLimits: undefined,
      expiresAt,
    })
  }
  return store
}

test('up to the limit ends are remembered, and the oldest is dropped first', () => {
  const keys = Array.from({ length: 5 }, () => drawKey())
  const { records } = storeOf(keys)
  const ended = new EndedKeys(3)
  const remembered = () => keys.filter(key => ended.refusalOf(digestOf(key)) !== undefined)
  ended.addAll(records, NOW)
  assert.deepEqual(remembered(), keys.slice(2))
  ended.add(records, 2, NOW)
  ended.add(records, 0, NOW)
  assert.deepEqual([remembered(), ended.size], [[keys[0], keys[2], keys[4]], 3])
  ended.forget(digestOf(keys[4] ?? ''))
  assert.deepEqual(remembered(), [keys[0], keys[2]])
  ended.clear()
  assert.equal(ended.size, 0)
})

test('a key removed at or after its expiry is expired, any other is revoked', () => {
  for (const [expiresAt, code] of [
    [NOW - 1, 'expired_key'],
    [NOW, 'expired_key'],
    [NOW + 1, 'revoked_key'],
    [Number.POSITIVE_INFINITY, 'revoked_key'],
  ] as const) {
    const key = drawKey()
    const ended = new EndedKeys()
    ended.addAll(storeOf([key], expiresAt).records, NOW)
    assert.equal(ended.refusalOf(digestOf(key))?.code, code)
  }
})

test('a record returns the digest that it was stored with', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
      const digest = Buffer.from(bytes).toString('utf16le')
      const store = storeOf([])
      store.upsert({
        keyId: id(1),
        tenantId: id(2),
        env: 'live',
        digest,
        scopes: [],
        rateLimits: undefined,
        expiresAt: 0,
      })
      assert.equal(store.records.digest(store.find(digest)), digest)
    }),
  )
})
