import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { emptyShared } from '../store/shared-list.ts'
import { Store } from '../store/store.ts'
import { createTestKeyring } from '../testing.ts'
import { EndedKeys } from './ended-keys.ts'
import { envOfHeld } from './env-of-held.ts'
import { RefusalCounts } from './refusal-counts.ts'
import { createVerify, type Served } from './verify.ts'

const NEVER = Number.POSITIVE_INFINITY

/** A file without a key. */
const savedNothing = {
  words: new Int32Array(),
  ids: new Int32Array(),
  otherIds: [],
  shared: emptyShared(),
  uses: 0,
}

function setUp(env: 'live' | 'test' | 'both' = 'both') {
  const store = new Store(100)
  store.confirm(0)
  store.setAcceptsImported(true)
  const served: Served = { store, ended: new EndedKeys(), hits: 0, misses: 0, evictions: 0 }
  let now = 0
  const clock = { wall: () => 1_800_000_000_000, monotonic: () => now }
  const verify = createVerify(served, { env, cachedTtlMs: 60_000, clock })
  let made = 0
  const hold = (text: string, of: 'live' | 'test' = 'live', scopes: string[] = []) => {
    made += 1
    store.upsert({
      keyId: id(made),
      tenantId: id(0xa000),
      env: of,
      digest: digestOf(text),
      scopes,
      rateLimits: undefined,
      expiresAt: NEVER,
    })
  }
  return {
    store,
    served,
    hold,
    code: (key: string, requirements = {}) => verify(key, requirements).code,
    pass: (milliseconds: number) => (now += milliseconds),
  }
}

test('a text of any form is a key where the project takes keys from elsewhere', () => {
  const { hold, code } = setUp()
  const texts = ['x', '!', '~'.repeat(512), 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', `${drawKey()}x`, 'a,b;"c"\\']
  for (const text of texts) hold(text)
  for (const text of texts) assert.equal(code(text), 'valid', text)
  assert.equal(code('another'), 'unknown_key')
})

test('what no key from elsewhere can be stays malformed', () => {
  const { code, served } = setUp()
  for (const text of ['~'.repeat(513), 'a b', 'a\n', '\u007f', 'ключ', 'é', '\ud800'])
    assert.equal(code(text), 'malformed_key', JSON.stringify(text))
  assert.equal(code(''), 'missing_key')
  assert.equal(served.misses, 0)
})

test('where the project takes none, other forms are malformed without a look-up', () => {
  const { store, served, hold, code } = setUp()
  hold('old')
  store.setAcceptsImported(false)
  assert.equal(code('old'), 'malformed_key')
  assert.deepEqual([served.hits, served.misses], [0, 0])
})

test('while nobody knows whether the project takes keys from elsewhere, each may be one', () => {
  const { store, served, code, pass } = setUp()
  const never = () => {
    for (const text of ['a b', '~'.repeat(513), 'é']) assert.equal(code(text), 'malformed_key', text)
  }
  const mistyped = `${drawKey()}x`
  served.store = undefined
  for (const text of ['old', mistyped]) assert.equal(code(text), 'not_ready')
  never()
  const unsaid = new Store(100)
  unsaid.restore({ ...savedNothing, acceptsImported: undefined })
  unsaid.confirm(0)
  served.store = unsaid
  for (const text of ['old', mistyped]) assert.equal(code(text), 'not_ready')
  assert.equal(code(drawKey()), 'unknown_key')
  never()
  unsaid.setAcceptsImported(false)
  assert.equal(code('old'), 'malformed_key')
  store.setAcceptsImported(false)
  served.store = store
  pass(60_000)
  for (const text of ['old', mistyped]) assert.equal(code(text), 'stale')
  never()
  assert.deepEqual([served.hits, served.misses], [0, 1])
})

test('the environment of a key from elsewhere is that of its record', () => {
  const { hold, code } = setUp()
  hold('of-test', 'test')
  assert.equal(code('of-test'), 'valid')
  assert.equal(code('of-test', { env: 'test' }), 'valid')
  assert.equal(code('of-test', { env: 'live' }), 'wrong_env')
  assert.equal(code('of-test', { env: 'both', scopes: ['a'] }), 'insufficient_scope')
})

test('a key of the form of Keyrail keeps its checksum and its environment', () => {
  const { hold, code } = setUp('live')
  const [own, forged] = [drawKey(), drawKey()]
  hold(own)
  hold(forged, 'test')
  assert.equal(code(own), 'valid')
  assert.equal(code(drawKey('kr_test')), 'wrong_env')
  assert.equal(code(forged), 'unknown_key')
})

test('keys from elsewhere end, and are refused while nothing is certain, as all others', () => {
  const { store, served, hold, code, pass } = setUp()
  hold('old')
  const slot = store.find(digestOf('old'))
  served.ended?.add(store.records, slot, 0)
  store.remove(id(1), undefined)
  assert.equal(code('old'), 'revoked_key')
  store.evictions = 1
  assert.equal(code('new'), 'not_held')
  pass(60_000)
  assert.equal(code('old'), 'stale')
})

test('an unknown key from elsewhere counts in the environment of its node', () => {
  for (const [env, counted] of [
    ['live', 'live'],
    ['both', 'live'],
    ['test', 'test'],
  ] as const) {
    const counts = new RefusalCounts(id(1), () => 0, env)
    counts.add('unknown_key', 'old')
    assert.equal(counts.take()?.env, counted)
  }
})

test('a refused key from elsewhere counts in the environment of its record, held or ended', () => {
  const { served, store, hold, code } = setUp()
  const counts = new RefusalCounts(id(1), () => 0)
  counts.envOf = key => envOfHeld(served, key)
  const reported = (key: string, refusal: string) => {
    counts.add(refusal, key)
    const { env, records } = counts.take() ?? assert.fail()
    return [env, records[0]?.reason]
  }
  for (const env of ['test', 'live'] as const) {
    const key = `old-${env}`
    hold(key, env)
    assert.deepEqual(reported(key, code(key, { scopes: ['a'] })), [env, 'insufficient_scope'])
    const digest = digestOf(key)
    served.ended?.add(store.records, store.find(digest), 0)
    store.remove(id(env === 'test' ? 1 : 2), digest)
    assert.deepEqual(reported(key, code(key)), [env, 'revoked_key'])
  }
  served.ended?.addCause(digestOf('other'), 'expired', 'test')
  assert.deepEqual(reported('other', code('other')), ['test', 'expired_key'])
  served.ended?.forget(digestOf('other'))
  assert.deepEqual(reported('other', code('other')), ['live', 'unknown_key'])
})

test('a test keyring issues keys of any given text', () => {
  const keyring = createTestKeyring()
  assert.equal(keyring.verify('old-key-text').code, 'malformed_key')
  const { key, keyId } = keyring.issue({ key: 'old-key-text', scopes: ['a'] })
  const verdict = keyring.verify('old-key-text', { scopes: ['a'] })
  assert.deepEqual([key, verdict.valid && verdict.keyId], ['old-key-text', keyId])
  assert.equal(keyring.verify('another-text').code, 'unknown_key')
  for (const why of ['not_ready', 'stale', 'not_held'] as const) {
    keyring.lose(why)
    assert.equal(keyring.verify('another-text').code, why)
  }
  assert.throws(() => keyring.issue({ key: 'a b' }), /key must be a text of 1 to 512/)
  assert.throws(() => keyring.issue({ key: drawKey('kr_test') }), /environment test/)
})
