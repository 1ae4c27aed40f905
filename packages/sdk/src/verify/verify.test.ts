import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { drawKey, id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Networks } from '../store/networks.ts'
import type { StoredKey } from '../store/records.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from './ended-keys.ts'
import { type RefusalCode, refusals, type Valid, type Verdict } from './verdict.ts'
import { createVerify, type Requirements, type Served, type VerifyDeps } from './verify.ts'

const TTL = 60_000
const NOW = Date.parse('2027-01-01T00:00:00Z')

/** A verifier with its own store and two clocks that a test sets. */
function setUp({ env = 'both', onUnavailable }: Partial<Pick<VerifyDeps, 'env' | 'onUnavailable'>> = {}) {
  const time = { wall: NOW, monotonic: 1_000_000 }
  const store = new Store(100)
  store.confirm(time.monotonic)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  const clock = { wall: () => time.wall, monotonic: () => time.monotonic }
  const verify = createVerify(served, { env, cachedTtlMs: TTL, clock, onUnavailable })
  const add = (key: string, more: Partial<StoredKey> = {}) =>
    store.upsert({
      keyId: id(1),
      tenantId: id(0xa000),
      env: key.includes('_test_') ? 'test' : 'live',
      digest: digestOf(key),
      scopes: ['orders:read', 'orders:write'],
      rateLimits: undefined,
      expiresAt: Number.POSITIVE_INFINITY,
      ...more,
    })
  const code = (key: unknown, more?: Requirements) => verify(key as string, more).code
  return { time, store, served, verify, add, code }
}

test('a known key is valid, and the verdict names its tenant and holds no secret', () => {
  const { verify, add } = setUp()
  const key = drawKey()
  const rateLimits = [{ id: 'burst', limit: 5, windowMs: 1000, algorithm: 'fixed', scope: 'key' }] as const
  add(key, { rateLimits, expiresAt: NOW + 1 })
  const verdict = verify(key)
  assert.deepEqual(verdict, {
    valid: true,
    code: 'valid',
    keyId: id(1),
    tenantId: id(0xa000),
    env: 'live',
    scopes: ['orders:read', 'orders:write'],
    expiresAt: NOW + 1,
    rateLimits,
  })
  assert.ok(!JSON.stringify(verdict).includes(key.slice(8)))
  const plain = drawKey()
  add(plain, { keyId: id(2) })
  const { expiresAt, ...rest } = verify(plain) as { expiresAt: unknown }
  assert.equal(expiresAt, null)
  assert.ok(!('rateLimits' in rest))
})

test('a key confirmed at t is served up to t + 59,999 ms and refused from t + 60,000 ms', () => {
  const { time, store, add, code } = setUp()
  const key = drawKey()
  const confirmedAt = time.monotonic
  add(key)
  for (const [after, expected] of [
    [0, 'valid'],
    [TTL - 1, 'valid'],
    [TTL, 'stale'],
    [TTL + 1, 'stale'],
  ] as const) {
    time.monotonic = confirmedAt + after
    assert.equal(code(key), expected, `${after} ms after`)
  }
  store.confirm(confirmedAt + 5)
  for (const [after, expected] of [
    [TTL + 4, 'valid'],
    [TTL + 5, 'stale'],
  ] as const) {
    time.monotonic = confirmedAt + after
    assert.equal(code(key), expected, `${after} ms later, confirmed again after 5 ms`)
  }
})

test('stepping the wall clock by an hour makes no key stale and keeps none fresh', () => {
  const { time, add, code } = setUp()
  const key = drawKey()
  add(key)
  for (const step of [-3_600_000, 3_600_000]) {
    time.wall = NOW + step
    assert.equal(code(key), 'valid')
  }
  time.wall = NOW
  time.monotonic += TTL
  assert.equal(code(key), 'stale')
})

test('a key is valid before its expiry and refused from then on', () => {
  const { time, add, code } = setUp()
  const key = drawKey()
  add(key, { expiresAt: NOW })
  time.wall = NOW - 1
  assert.equal(code(key), 'valid')
  time.wall = NOW
  assert.equal(code(key), 'expired_key')
})

test('an unknown key is unknown while the store is confirmed, and stale when it might be new', () => {
  const { time, code } = setUp()
  assert.equal(code(drawKey()), 'unknown_key')
  time.monotonic += TTL
  assert.equal(code(drawKey()), 'stale')
})

test('a key of the other environment is refused, known or not, by the keyring and by the call', () => {
  const live = setUp({ env: 'live' })
  const key = drawKey('kr_test')
  live.add(key)
  assert.equal(live.code(key), 'wrong_env')
  assert.equal(live.served.hits, 0)

  const both = setUp()
  both.add(key)
  assert.equal(both.code(key), 'valid')
  assert.equal(both.code(key, { env: 'test' }), 'valid')
  assert.equal(both.code(key, { env: 'both' }), 'valid')
  assert.equal(both.code(key, { env: 'live' }), 'wrong_env')
  assert.equal(both.code(key, { env: 'prod' as 'live' }), 'wrong_env')
})

test('a record whose environment contradicts its key is not served', () => {
  const { add, code } = setUp()
  const key = drawKey('kr_test')
  add(key, { env: 'live' })
  assert.equal(code(key), 'unknown_key')
})

test('an absent key is not_held, not unknown, if the node does not hold all keys', () => {
  const { served, store, code } = setUp()
  assert.equal(code(drawKey()), 'unknown_key')
  store.evictions = 1
  assert.equal(code(drawKey()), 'not_held')
  store.evictions = 0
  served.isPartial = true
  assert.equal(code(drawKey()), 'not_held')
})

test('a removed key is refused with its cause, also if not all keys are held', () => {
  const own = { valid: true, code: 'valid' } as Valid
  const { served, store, add, code } = setUp({ onUnavailable: () => own })
  const [revoked, expired, left] = [drawKey(), drawKey(), drawKey()]
  const ended = new EndedKeys()
  served.ended = ended
  for (const [number, key] of [revoked, expired, left].entries()) {
    add(key, { keyId: id(number), ...(key === expired && { expiresAt: NOW }) })
    if (key !== left) ended.add(store.records, store.find(digestOf(key)), NOW)
    store.remove(id(number), digestOf(key))
  }
  const codes = () => [revoked, expired, left].map(key => code(key))
  assert.deepEqual(codes(), ['revoked_key', 'expired_key', 'unknown_key'])
  assert.deepEqual([served.hits, served.misses], [0, 3])
  store.evictions = 1
  assert.deepEqual(codes(), ['revoked_key', 'expired_key', 'not_held'])
})

test('onUnavailable decides only about keys that cannot be judged, within the same conditions', () => {
  const key = drawKey()
  const own: Valid = {
    valid: true,
    code: 'valid',
    keyId: id(9),
    tenantId: id(8),
    env: 'live',
    scopes: ['orders:read'],
    expiresAt: NOW + 1,
  }
  let answer: unknown = own
  const asked: string[] = []
  const { time, store, served, verify, code } = setUp({
    onUnavailable({ code }, given) {
      asked.push(`${code} ${given === key}`)
      if (answer instanceof Error) throw answer
      return answer as Verdict
    },
  })
  assert.equal(code(key), 'unknown_key')
  assert.deepEqual(asked, [])
  store.evictions = 1
  assert.equal(verify(key), own)
  time.monotonic += TTL
  assert.equal(verify(key, { scopes: ['orders:read'] }), own)
  assert.equal(code(key, { scopes: ['orders:write'] }), 'stale')
  assert.equal(code(key, { scope: ['orders:read'] } as Requirements), 'stale')
  served.store = undefined
  assert.equal(verify(key), own)
  assert.deepEqual([...new Set(asked)], ['not_held true', 'stale true', 'not_ready true'])
  for (const odd of [
    undefined,
    null,
    true,
    {},
    new Error('mine'),
    { ...own, valid: 'yes' },
    { ...own, keyId: undefined },
    { ...own, tenantId: 7 },
    { ...own, env: 'test' },
    { ...own, scopes: 'orders:read' },
    { ...own, expiresAt: NOW },
    { ...own, expiresAt: undefined },
    Promise.resolve(own),
    Promise.reject(new Error('mine')),
  ]) {
    answer = odd
    assert.equal(code(key), 'not_ready')
  }
})

test('of several reasons the first in the list of refusals is the verdict', () => {
  const { time, served, store, add, code } = setUp({ env: 'live' })
  const key = drawKey()
  served.store = undefined
  const order: RefusalCode[] = []
  const judge = (candidate: string, more?: Requirements) => order.push(code(candidate, more) as RefusalCode)
  judge('')
  judge('a b')
  judge(drawKey('kr_test'))
  judge(key)
  served.store = store
  add(key, { expiresAt: NOW })
  time.monotonic += TTL
  judge(key, { scopes: ['none'] })
  store.confirm(time.monotonic)
  store.evictions = 1
  judge(drawKey(), { scopes: ['none'] })
  store.evictions = 0
  judge(drawKey(), { scopes: ['none'] })
  const revoked = drawKey()
  add(revoked, { keyId: id(2) })
  served.ended = new EndedKeys()
  served.ended.add(store.records, store.find(digestOf(revoked)), NOW)
  store.remove(id(2), digestOf(revoked))
  judge(revoked, { scopes: ['none'] })
  for (const cause of ['disabled', 'suspended']) {
    served.ended.addCause(digestOf(revoked), cause)
    judge(revoked, { scopes: ['none'] })
  }
  judge(key, { scopes: ['none'] })
  time.wall = NOW - 1
  add(key, { tooOldAt: NOW - 1, networks: Networks.read(['203.0.113.0/24']) })
  judge(key, { scopes: ['none'] })
  add(key, { expiresAt: NOW, networks: Networks.read(['203.0.113.0/24']) })
  judge(key, { scopes: ['none'] })
  judge(key, { scopes: ['none'], ip: '198.51.100.1' })
  judge(key, { scopes: ['none'], ip: '203.0.113.1' })
  assert.deepEqual(order, Object.keys(refusals))
})

test('any argument that is not a key is refused without a throw', () => {
  const { add, code, verify } = setUp()
  const known = drawKey()
  add(known)
  const throws = new Proxy({}, { get: () => assert.fail('touched') })
  for (const odd of [0, 1n, true, Symbol('key'), [], {}, throws, () => known, new String(known), [known]]) {
    assert.equal(code(odd), 'malformed_key')
  }
  for (const none of [undefined, null, '']) assert.equal(code(none), 'missing_key')
  for (const scopes of ['orders:read', 1, {}, null, [1], [['orders:read']], [undefined]]) {
    assert.equal(verify(known, { scopes } as unknown as Requirements).valid, false, JSON.stringify(scopes))
  }
  assert.equal(verify(known, throws as Requirements).valid, false)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), text => {
      assert.equal(verify(text).valid, false)
    }),
  )
})

test('a clock that gives no number refuses', () => {
  const { time, add, code } = setUp()
  const key = drawKey()
  add(key, { expiresAt: NOW + 1 })
  time.monotonic = Number.NaN
  assert.equal(code(key), 'stale')
  time.monotonic = 1_000_000
  time.wall = Number.NaN
  assert.equal(code(key), 'expired_key')
})

test('hits and misses are counted; malformed keys are neither', () => {
  const { served, add, code } = setUp()
  const key = drawKey()
  add(key)
  code(key)
  code(drawKey())
  code(drawKey().slice(1))
  code('')
  assert.deepEqual([served.hits, served.misses], [1, 1])
})
