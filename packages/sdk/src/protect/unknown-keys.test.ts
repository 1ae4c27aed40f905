import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { id } from '../../test/keys.ts'
import type { Customer, OnUnknownKey } from '../keyring/imported-customer.ts'
import { UnknownKeys } from '../keyring/unknown-keys.ts'
import { digestOf } from '../runtime/digest.ts'
import { Store } from '../store/store.ts'
import { withGateParts } from '../verify/gate-parts.ts'
import { createVerify, type Served } from '../verify/verify.ts'
import { createGate } from './request-gate.ts'

const BEGAN = Date.parse('2027-01-01T00:00:00Z')

/** A clock that a test moves. Its pauses end when it has passed their time. */
function virtualClock() {
  let now = 0
  const waiting = new Set<{ due: number; end: () => void }>()
  return {
    monotonic: () => now,
    wall: () => BEGAN + now,
    pause: (milliseconds: number, signal: AbortSignal) =>
      new Promise<void>(resolve => {
        const entry = { due: now + milliseconds, end: resolve }
        waiting.add(entry)
        signal.addEventListener('abort', () => {
          waiting.delete(entry)
          resolve()
        })
      }),
    async pass(milliseconds: number) {
      now += milliseconds
      for (const each of waiting) {
        if (each.due > now) continue
        waiting.delete(each)
        each.end()
      }
      await turn()
    },
  }
}

function setUp(check: OnUnknownKey, send: (digest: string, customer: Customer) => Promise<unknown>) {
  const clock = virtualClock()
  const store = new Store(100)
  store.confirm(0)
  const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
  const errors: string[] = []
  const sent: Customer[] = []
  let asked = 0
  const unknownKeys = new UnknownKeys({
    check: (...given) => {
      asked++
      return check(...given)
    },
    send: (digest, customer) => {
      sent.push(customer)
      return send(digest, customer)
    },
    clock,
    served,
    cachedTtlMs: 3_600_000,
    env: 'live',
    onError: error => errors.push(error.code),
  })
  const judge = createVerify(served, { env: 'live', cachedTtlMs: 3_600_000, clock })
  const gate = createGate({ verify: withGateParts(judge, { unknownKeys }) }, { getKey: ({ key }) => key })
  const admit = (key: string, scopes: readonly string[] = []) =>
    gate.admit({ rawHeaders: [], key }, { scopes })
  const code = async (key: string, scopes: readonly string[] = []) => {
    const { refusal } = await admit(key, scopes)
    return refusal === undefined ? 'valid' : (refusal.body as { code: string }).code
  }
  return { clock, store, served, errors, sent, unknownKeys, admit, code, asked: () => asked }
}

const acme = { externalId: 'acme', scopes: ['orders:read'] }
const works = async () => {}

test('a key that the own check accepts passes, and is imported once', async () => {
  const node = setUp(async key => (key === 'old' ? acme : null), works)
  const { key } = await node.admit('old', ['orders:read'])
  assert.deepEqual([key?.keyId, key?.externalId, key?.env], ['', 'acme', 'live'])
  assert.equal(await node.code('old', ['orders:write']), 'insufficient_scope')
  assert.equal(await node.code('old'), 'valid')
  assert.equal(node.asked(), 1)
  assert.deepEqual(
    node.sent.map(({ externalId, scopes }) => [externalId, scopes]),
    [['acme', ['orders:read']]],
  )
})

test('the own check is asked about visible texts that are unknown or malformed, and about no other', async () => {
  const node = setUp(async () => acme, works)
  for (const key of ['a b', '~'.repeat(513), 'ключ']) assert.equal(await node.code(key), 'malformed_key')
  assert.equal(node.asked(), 0)
  assert.equal(await node.code('~'.repeat(512)), 'valid')
  node.store.setAcceptsImported(true)
  assert.equal(await node.code('another'), 'valid')
  assert.equal(node.asked(), 2)
  node.served.store = undefined
  assert.equal(await node.code('third'), 'not_ready')
  node.served.store = node.store
  await node.clock.pass(3_600_000)
  assert.equal(await node.code('third'), 'stale')
  assert.equal(node.asked(), 2)
})

test('a refusal is remembered for 60 s', async () => {
  const node = setUp(async () => null, works)
  assert.equal(await node.code('old'), 'malformed_key')
  await node.clock.pass(59_999)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(node.asked(), 1)
  await node.clock.pass(1)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(node.asked(), 2)
})

test('requests with one key share one check, and a 65th key waits for none', async () => {
  const ends: (() => void)[] = []
  const node = setUp(() => new Promise(resolve => ends.push(() => resolve(acme))), works)
  const first = [node.code('key-0'), node.code('key-0')]
  const others = Array.from({ length: 63 }, (_, at) => node.code(`key-${at + 1}`))
  await turn()
  assert.equal(node.asked(), 64)
  const { refusal } = await node.admit('key-64')
  assert.equal(refusal?.status, 503)
  assert.match(
    JSON.stringify(refusal?.body),
    /too many such keys are being checked at once","code":"not_held"/,
  )
  for (const end of ends) end()
  assert.deepEqual(new Set(await Promise.all([...first, ...others])), new Set(['valid']))
  const late = node.code('key-64')
  await turn()
  ends.at(-1)?.()
  assert.equal(await late, 'valid')
})

test('a check that takes longer than 5 s refuses its request, and its answer counts for the next', async () => {
  let end = (_: typeof acme) => {}
  const node = setUp(() => new Promise(resolve => (end = resolve)), works)
  const first = node.code('old')
  await turn()
  await node.clock.pass(5_000)
  assert.equal(await first, 'malformed_key')
  const second = node.code('old')
  await turn()
  assert.equal(node.asked(), 1)
  end(acme)
  assert.equal(await second, 'valid')
})

test('a check that throws, or returns no customer, refuses and is reported', async () => {
  const odd: unknown[] = [7, {}, { tenantId: id(1), externalId: 'a' }, { externalId: 'a', scopes: 'all' }]
  for (const given of odd) {
    const node = setUp(async () => given as never, works)
    assert.equal(await node.code('old'), 'malformed_key')
    assert.deepEqual([node.errors, node.sent], [['own_check_failed'], []])
  }
  const node = setUp(() => {
    throw new Error('the key is old')
  }, works)
  assert.equal(await node.code('old'), 'malformed_key')
  assert.equal(await node.code('old'), 'malformed_key')
  assert.deepEqual([node.errors, node.asked()], [['own_check_failed', 'own_check_failed'], 2])
})

test('an import that fails is reported and tried again, while the key passes', async () => {
  let isAway = true
  const node = setUp(
    async () => acme,
    async () => {
      if (isAway) throw new Error('away')
    },
  )
  assert.equal(await node.code('old'), 'valid')
  await turn()
  assert.equal(await node.code('old'), 'valid')
  assert.deepEqual([node.sent.length, node.errors.length], [1, 1])
  isAway = false
  await node.clock.pass(10_000)
  assert.equal(await node.code('old'), 'valid')
  await turn()
  await node.clock.pass(10_000)
  assert.equal(await node.code('old'), 'valid')
  assert.deepEqual([node.sent.length, node.errors.length, node.asked()], [2, 1, 1])
})

test('a success is forgotten once the feed has the key, and after 10 minutes', async () => {
  const node = setUp(async () => acme, works)
  await node.code('old')
  await node.clock.pass(599_999)
  await node.code('old')
  assert.equal(node.asked(), 1)
  await node.clock.pass(1)
  await node.code('old')
  assert.equal(node.asked(), 2)
  node.store.setAcceptsImported(true)
  node.store.upsert({
    keyId: id(1),
    tenantId: id(2),
    env: 'live',
    digest: digestOf('old'),
    scopes: [],
    rateLimits: undefined,
    expiresAt: Number.POSITIVE_INFINITY,
  })
  node.unknownKeys.sweep()
  assert.equal((await node.admit('old')).key?.keyId, id(1))
  node.store.remove(id(1), undefined)
  await node.code('old')
  assert.equal(node.asked(), 3)
})

test('suspended tenants and expired keys of the own check are refused', async () => {
  const node = setUp(async key => ({ tenantId: id(1), expiresAt: key === 'late' ? BEGAN : null }), works)
  assert.equal(await node.code('late'), 'expired_key')
  assert.equal(await node.code('old'), 'valid')
  node.store.setSuspended(id(1), true)
  assert.equal(await node.code('old'), 'suspended_tenant')
})
