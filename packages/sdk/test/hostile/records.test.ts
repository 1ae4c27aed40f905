import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { createLimiter } from '../../src/index.ts'
import { type FeedService, project, secretKey } from '../feed-service.ts'
import { serveFetch } from '../fetch-server.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { deltaOf, openWitness, serveOneKey, snapshotOf, type Witness } from './node.ts'

/** Records that this version cannot read: each costs only its own key, which is refused and reported. */

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

/** Fields of a record, and what the report names. */
const unreadable: [mode: string, members: object, names: RegExp][] = [
  ['an environment that is new', { env: 'preview' }, /env/],
  ['an environment that was not asked for', { env: 'test' }, /env, which was not asked for/],
  ['no tenant', { tenant_id: 7 }, /tenant_id/],
  ['scopes that are not a list', { scopes: 'all' }, /scopes/],
  ['scopes that are not strings', { scopes: [1] }, /scopes/],
  ['no expiry', { expires_at: undefined }, /expires_at/],
  ['an expiry without a zone', { expires_at: '2027-01-01T00:00:00' }, /expires_at/],
  ['an expiry as a number', { expires_at: 1_900_000_000_000 }, /expires_at/],
  ['limits that are not a list', { rate_limits: { id: 'x' } }, /rate_limits/],
  ['a rule that is a text', { rate_limits: ['10/s'] }, /rate_limits/],
  ['a rule of a thousand levels', { rate_limits: [deep(1_000)] }, /rate_limits/],
  ['an id that is not a string', { key_id: 5 }, /key_id/],
  ['an invalid hash', { lookup_hash: 'short' }, /lookup_hash/],
]

for (const [mode, members, names] of unreadable) {
  test(`${mode}, on a page: only that key is refused, and it is reported`, async () => {
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

  test(`${mode}, in a change: that key is refused from then on, and the rest is applied`, async () => {
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
  test(`after the unreadable change ${JSON.stringify(change)} all keys are taken anew`, async () => {
    const [fresh, forged] = [drawKey(), drawKey()]
    service.upsert(policyKey(fresh, 2))
    const changes = [{ change: 'upsert', ...policyKey(forged, 3) }, change]
    service.instead.push(deltaOf(service, changes, { since: service.version - 1 }))
    await until(() => code(fresh) === 'valid', 'a snapshot is taken')
    assert.deepEqual([code(key), code(forged)], ['valid', 'unknown_key'])
    assert.deepEqual(witness.errors, [])
  })

test('unknown fields are ignored', async () => {
  const next = drawKey()
  const record = { ...policyKey(next, 2), colour: 'red', nested: deep(20) }
  service.instead.push(deltaOf(service, [{ change: 'upsert', ...record, since: 4 }], { weather: 'fine' }))
  await until(() => code(next) === 'valid', 'the delta is taken')
  assert.deepEqual(witness.errors, [])
})

test('a limit with a new algorithm is accepted and sent to the service unchanged', async () => {
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
  const url = await serveFetch(async request => {
    asked = (await request.json()) as typeof asked
    const headers = { 'RateLimit-Policy': '"a"', RateLimit: '"a"' }
    return Response.json({ object: 'ratelimit_check', allowed: true, denied_by: [], headers })
  })
  const verdict = witness.keyring.verify(key)
  assert.ok(verdict.valid)
  const limiter = createLimiter({ url, secretKey, project })
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

test('the verdict has the cause of a tombstone also for a key that the node never held', async () => {
  const brief = drawKey()
  const { key_id, lookup_hash, env } = policyKey(brief, 2)
  service.instead.push(
    deltaOf(service, [{ change: 'tombstone', key_id, lookup_hash, env, cause: 'revoked' }]),
  )
  await until(() => code(brief) === 'revoked_key', 'the cause is known')
})

test('without a listener, a key that no poll can read causes one warning', async () => {
  const warnings: Error[] = []
  const hear = (warning: Error) => warnings.push(warning)
  process.on('warning', hear)
  const { keyring } = openWitness(service, { onError: undefined })
  try {
    await keyring.ready()
    const odd = { change: 'upsert', ...policyKey(drawKey(), 7), env: 'preview' }
    service.misbehave = ({ url }) => deltaOf(service, [odd], { since: Number(url.searchParams.get('since')) })
    const polls = () => keyring.stats().polls.delta
    await until(() => polls() > 3, 'it has polled')
    assert.equal(warnings.length, 1)
  } finally {
    process.off('warning', hear)
    await keyring.close()
  }
})
