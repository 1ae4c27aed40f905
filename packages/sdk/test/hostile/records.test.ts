import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createLimiter } from '../../src/index.ts'
import { type FeedService, projectId, secretKey } from '../feed-service.ts'
import { serveFetch } from '../fetch-server.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { deltaOf, serveOneKey, snapshotOf, type Witness } from './node.ts'

/** Records that this version cannot read: each costs its own key, which is refused and reported, and no other one. */

let service: FeedService
let witness: Witness
let key = ''
beforeEach(async () => {
  ;({ service, key, witness } = await serveOneKey())
})
afterEach(async () => {
  await witness.keyring.close()
  await service.close()
})

const code = (which: string) => witness.keyring.verify(which).code
const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) })

/** Members of a record, and what the report names. */
const unreadable: [mode: string, members: object, names: RegExp][] = [
  ['an environment that is new', { env: 'preview' }, /env/],
  ['an environment that was not asked for', { env: 'test' }, /env, which was not asked for/],
  ['no tenant', { tenant_id: 7 }, /tenant_id/],
  ['scopes that are no list', { scopes: 'all' }, /scopes/],
  ['scopes that are no texts', { scopes: [1] }, /scopes/],
  ['no word of its end', { expires_at: undefined }, /expires_at/],
  ['an end without a zone', { expires_at: '2027-01-01T00:00:00' }, /expires_at/],
  ['an end as a number', { expires_at: 1_900_000_000_000 }, /expires_at/],
  ['rules that are no list', { rate_limits: { id: 'x' } }, /rate_limits/],
  ['a rule that is a text', { rate_limits: ['10/s'] }, /rate_limits/],
  ['a rule of a thousand levels', { rate_limits: [deep(1_000)] }, /rate_limits/],
  ['an id that is no text', { key_id: 5 }, /key_id/],
  ['a hash that is none', { lookup_hash: 'short' }, /lookup_hash/],
]

for (const [mode, members, names] of unreadable) {
  test(`${mode}, on a page: that key is refused and reported, and the others of the page are served`, async () => {
    const [odd, next] = [drawKey(), drawKey()]
    const keys = [policyKey(key, 1), { ...policyKey(odd, 2), ...members }, policyKey(next, 3)]
    service.instead.push(snapshotOf(service, { keys }))
    await until(() => code(next) === 'valid', 'the page is taken')
    assert.deepEqual([code(key), code(odd)], ['valid', 'unknown_key'])
    assert.deepEqual(
      witness.errors.map(error => error.code),
      ['unreadable_key'],
    )
    assert.match(witness.errors[0]?.message ?? '', names)
  })

  test(`${mode}, in a change of a key that is held: that key is refused from then on, and the rest is applied`, async () => {
    const next = drawKey()
    const changes = [
      { change: 'upsert', ...policyKey(key, 1), ...members },
      { change: 'upsert', ...policyKey(next, 3) },
    ]
    service.instead.push(deltaOf(service, changes))
    await until(() => code(next) === 'valid', 'the delta is taken')
    assert.equal(code(key), 'unknown_key')
    assert.equal(witness.errors[0]?.code, 'unreadable_key')
  })
}

for (const change of [
  null,
  'upsert',
  {},
  { change: 'upsert', key_id: 1 },
  { change: 'tombstone' },
  { change: 'pause', key_id: id(1) },
])
  test(`a change that names no key, or is of a new kind (${JSON.stringify(change)}): all keys are taken anew`, async () => {
    const [fresh, forged] = [drawKey(), drawKey()]
    service.upsert(policyKey(fresh, 2))
    const changes = [{ change: 'upsert', ...policyKey(forged, 3) }, change]
    service.instead.push(deltaOf(service, changes, { since: service.version - 1 }))
    await until(() => code(fresh) === 'valid', 'a snapshot is taken')
    assert.deepEqual([code(key), code(forged)], ['valid', 'unknown_key'])
    assert.deepEqual(witness.errors, [])
  })

test('members and changes beside what is known: they are passed over', async () => {
  const next = drawKey()
  const record = { ...policyKey(next, 2), colour: 'red', nested: deep(20) }
  service.instead.push(deltaOf(service, [{ change: 'upsert', ...record, since: 4 }], { weather: 'fine' }))
  await until(() => code(next) === 'valid', 'the delta is taken')
  assert.deepEqual(witness.errors, [])
})

test('a rule of a new algorithm: the node takes the key, and the limiter sends the rule on as it came', async () => {
  const rules = [
    { id: 'a', limit: 10, window_ms: 1_000, algorithm: 'sliding', scope: 'key' },
    { id: 'b', algorithm: 'bucket', rate: { units: 5, per: 'second' }, burst: 9 },
  ]
  const record = { ...policyKey(key, 1), rate_limits: rules }
  service.instead.push(deltaOf(service, [{ change: 'upsert', ...record }]))
  await until(() => {
    const verdict = witness.keyring.verify(key)
    return verdict.valid && verdict.rateLimits !== undefined
  }, 'the rules have come')
  assert.deepEqual(witness.errors, [])
  let asked: { limits?: unknown } = {}
  const baseUrl = await serveFetch(async request => {
    asked = (await request.json()) as typeof asked
    const headers = { 'RateLimit-Policy': '"a"', RateLimit: '"a"' }
    return Response.json({ object: 'ratelimit_check', allowed: true, denied_by: [], headers })
  })
  const verdict = witness.keyring.verify(key)
  assert.ok(verdict.valid)
  const limiter = createLimiter({ baseUrl, secretKey, projectId })
  assert.deepEqual(verdict.rateLimits, [
    { id: 'a', limit: 10, windowMs: 1_000, algorithm: 'sliding', scope: 'key' },
    rules[1],
  ])
  assert.equal((await limiter.limit(verdict)).code, 'allowed')
  assert.equal(JSON.stringify(asked.limits), JSON.stringify(rules))
})

for (const [cause, verdict] of [
  ['revoked', 'revoked_key'],
  ['expired', 'expired_key'],
  ['deleted', 'revoked_key'],
  ['disabled', 'disabled_key'],
  ['suspended', 'suspended_tenant'],
  ['constructor', 'unknown_key'],
  ['eaten', 'unknown_key'],
  [7, 'revoked_key'],
  [undefined, 'revoked_key'],
] as const)
  test(`a tombstone with the cause ${JSON.stringify(cause)}: the verdict is ${verdict}`, async () => {
    const { key_id, lookup_hash, env } = policyKey(key, 1)
    service.instead.push(deltaOf(service, [{ change: 'tombstone', key_id, lookup_hash, env, cause }]))
    await until(() => code(key) !== 'valid', 'the key is gone')
    assert.equal(code(key), verdict)
    service.upsert(policyKey(key, 1))
    await until(() => code(key) === 'valid', 'a key that comes again is valid')
  })

test('a tombstone with a cause, of a key that this node never held: the verdict says why all the same', async () => {
  const brief = drawKey()
  const { key_id, lookup_hash, env } = policyKey(brief, 2)
  service.instead.push(
    deltaOf(service, [{ change: 'tombstone', key_id, lookup_hash, env, cause: 'revoked' }]),
  )
  await until(() => code(brief) === 'revoked_key', 'the cause is known')
})
