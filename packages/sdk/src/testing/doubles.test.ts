import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../test/until.ts'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import type { IdempotencyVerdict } from '../idempotency/idempotent.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { createTestIdempotency, createTestLimiter, createTestUsage } from './doubles.ts'
import { createTestKeyring } from './keyring.ts'

const keyring = createTestKeyring()
function valid(rateLimits: readonly RateLimit[] = []) {
  const verdict = keyring.verify(keyring.issue({ rateLimits }).key)
  assert.ok(verdict.valid)
  return verdict
}
const perMinute = (limit: number): RateLimit[] => [
  { id: 'minute', limit, windowMs: 60_000, algorithm: 'fixed', scope: 'key' },
]
function collectCodes() {
  const codes: string[] = []
  return { codes, onError: ({ code }: KeyrailError) => void codes.push(code) }
}

test('a test limiter charges, refuses and recovers with time, as in production', async () => {
  const { codes, onError } = collectCodes()
  const limiter = createTestLimiter({ onError })
  const key = valid(perMinute(3))
  const first = await limiter.limit(key, { cost: 2 })
  assert.deepEqual(
    [first.code, first.headers],
    ['allowed', { 'ratelimit-policy': '"minute";q=3;w=60', ratelimit: '"minute";r=1;t=60' }],
  )
  limiter.advance(20_500)
  for (const retryAfter of ['40', '39']) {
    const denied = await limiter.limit(key, { cost: 2 })
    assert.ok(!denied.allowed)
    assert.deepEqual(
      [denied.code, denied.problem.status, denied.problem.headers['retry-after']],
      ['rate_limited', 429, retryAfter],
    )
    limiter.advance(500)
  }
  assert.equal((await limiter.limit(key)).code, 'allowed')
  assert.equal((await limiter.limit(valid())).code, 'no_limits')
  limiter.advance(38_500)
  assert.equal((await limiter.limit(key, { cost: 3 })).code, 'allowed')
  assert.equal((await limiter.limit(undefined as never)).code, 'misused')
  assert.deepEqual(codes, ['misused'])
})

test('a test limiter without its service refuses, or passes with `allow`, and charges nothing', async () => {
  for (const [onUnavailable, code] of [
    [undefined, 'limits_unavailable'],
    ['allow', 'unchecked'],
  ] as const) {
    const { codes, onError } = collectCodes()
    const limiter = createTestLimiter({ onUnavailable, onError })
    const key = valid(perMinute(1))
    limiter.lose()
    for (let call = 0; call < 2; call++) assert.equal((await limiter.limit(key)).code, code)
    assert.deepEqual(codes, ['network_error', 'network_error'])
    limiter.recover()
    assert.equal((await limiter.limit(key)).code, 'allowed')
  }
})

const payment = (idempotencyKey: string, body = '{}') => ({
  ...{ key: valid(), idempotencyKey, method: 'POST', target: '/payments', body },
})
const codeOf = (verdict: IdempotencyVerdict) =>
  verdict.verdict === 'refuse' ? verdict.problem.body.code : verdict.verdict
function executed(verdict: IdempotencyVerdict): HeldClaim {
  assert.ok(verdict.verdict === 'execute', codeOf(verdict))
  return verdict.claim
}
const answer = Buffer.from('{"id":1}')

test('a request is executed once, replayed, and executed again after its ttl', async () => {
  const idempotency = createTestIdempotency({ ttlMs: 60_000, maxBodyBytes: 10 })
  assert.equal(idempotency.maxBodyBytes, 10)
  const request = payment('a')
  const claim = executed(await idempotency.claim(request))
  assert.equal(codeOf(await idempotency.claim(request)), 'idempotency_in_progress')
  await claim.answered(201, [['location', '/payments/1']], answer)
  const again = await idempotency.claim(request)
  assert.ok(again.verdict === 'replay')
  assert.deepEqual([again.answer.status, Buffer.from(again.answer.body)], [201, answer])
  assert.equal(codeOf(await idempotency.claim({ ...request, body: '[]' })), 'idempotency_key_reused')
  const large = payment('large')
  await executed(await idempotency.claim(large)).answered(200, [], null)
  assert.equal(codeOf(await idempotency.claim(large)), 'idempotency_not_replayable')
  idempotency.advance(60_000)
  await executed(await idempotency.claim(request)).release()
  executed(await idempotency.claim(request))
})

test('heartbeats keep a claim while time advances, and without them it is taken over', async () => {
  const { codes, onError } = collectCodes()
  const idempotency = createTestIdempotency({ onError })
  const request = payment('slow')
  const slow = executed(await idempotency.claim(request))
  idempotency.advance(31_000)
  assert.equal(codeOf(await idempotency.claim(request)), 'idempotency_in_progress')
  idempotency.lose()
  assert.equal(codeOf(await idempotency.claim(request)), 'idempotency_unavailable')
  idempotency.advance(31_000)
  await until(() => codes.length === 2, 'the claim and a heartbeat have failed')
  idempotency.recover()
  executed(await idempotency.claim(request))
  await slow.answered(200, [], answer)
  assert.ok(slow.taken.aborted)
  assert.equal(codeOf(await idempotency.claim(request)), 'idempotency_in_progress')
})

test('an answer that could not be stored is stored when time advances', async () => {
  const { codes, onError } = collectCodes()
  const idempotency = createTestIdempotency({ onError })
  const request = payment('away')
  const claim = executed(await idempotency.claim(request))
  idempotency.lose()
  await claim.answered(201, [], answer)
  assert.deepEqual(codes, ['network_error'])
  idempotency.recover()
  assert.equal(codeOf(await idempotency.claim(request)), 'idempotency_in_progress')
  idempotency.advance(5_000)
  await idempotency.close()
  assert.equal((await idempotency.claim(request)).verdict, 'replay')
})

test('counts can be read by key, also after the service was lost', async () => {
  const { codes, onError } = collectCodes()
  await using usage = createTestUsage({ onError })
  const [one, other] = [valid(), valid()]
  usage.count(one)
  usage.count(other, 2)
  assert.deepEqual(await usage.reported(), { [one.keyId]: 1, [other.keyId]: 2 })
  usage.lose()
  usage.count(one, 3)
  assert.deepEqual(await usage.reported(), { [one.keyId]: 1, [other.keyId]: 2 })
  assert.deepEqual([usage.stats().pending, codes], [3, ['network_error']])
  usage.recover()
  assert.deepEqual(await usage.reported(), { [one.keyId]: 4, [other.keyId]: 2 })
  usage.count(one)
  usage.advance(10_000)
  await until(() => usage.stats().reported === 7, 'it is sent when it is due')
})

test('sampled counts are multiplied as by the service', async () => {
  await using usage = createTestUsage({ sampleRate: 0.5 })
  const key = valid()
  usage.count(key, 100_000)
  assert.deepEqual(await usage.reported(), { [key.keyId]: 100_000 })
})

test('values that the service rejects and unknown options are errors that name them', () => {
  for (const milliseconds of [-1, 0.5, Number.NaN, undefined as never])
    assert.throws(() => createTestLimiter().advance(milliseconds), /^TypeError: milliseconds must be/)
  const rule = { id: 'a', limit: 1, windowMs: 60, algorithm: 'fixed', scope: 'key' }
  const issue = (more: object) => () => createTestKeyring().issue({ rateLimits: [{ ...rule, ...more }] })
  assert.throws(issue({}), /^TypeError: rateLimits\.0\.windowMs must be/)
  assert.throws(issue({ limit: 0 }), /^TypeError: rateLimits\.0\.limit must be/)
  for (const make of [createTestLimiter, createTestIdempotency, createTestUsage]) {
    assert.throws(() => make({ onUnavailabel: 'allow' } as never), /has no option "onUnavailabel"/)
    // Every call goes to the in-memory service.
    make({ url: 'ftp://x', secretKey: '', fetch: null } as never)
  }
})

test('with `prepay` the limiter holds units, which pass while the service is away', async () => {
  const limiter = createTestLimiter({ prepay: {}, onError: () => {} })
  const minute = { id: 'minute', limit: 1_000, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }
  const { verify, issue } = createTestKeyring()
  const key = verify(issue({ rateLimits: [minute] }).key)
  assert.ok(key.valid)
  for (let n = 0; n < 20; n++) assert.equal((await limiter.limit(key)).allowed, true)
  const { unitsHeld, calls } = limiter.stats()
  assert.ok(unitsHeld > 0 && calls < 20)
  limiter.lose()
  for (let n = 0; n < unitsHeld; n++) assert.equal((await limiter.limit(key)).source, 'prepaid')
  assert.equal((await limiter.limit(key)).code, 'limits_unavailable')
  limiter.recover()
  limiter.advance(60_000)
  assert.equal((await limiter.limit(key)).limits?.[0]?.remaining, 999)
})
