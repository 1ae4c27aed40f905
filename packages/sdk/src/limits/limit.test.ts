import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { drawKey } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import { startKeyrail } from '../../test/service.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { toWireRateLimits } from '../store/rate-limits.ts'
import { refused } from '../verify/verdict.ts'
import { createLimiter, type LimiterOptions, openLimiter } from './limit.ts'

const { settings, valid, patient } = await startKeyrail()

/** Limits in the form of the service. */
const issued = (...given: Parameters<typeof hourly>) => toWireRateLimits([hourly(...given)])

/** A limiter whose service's answers a test sets. */
function answered(answer: () => Promise<Response>, options: Partial<LimiterOptions> = {}) {
  const errors: KeyrailError[] = []
  const limiter = createLimiter({
    ...settings,
    fetch: answer,
    onError: error => void errors.push(error),
    ...options,
  })
  return { limiter, errors }
}

test('a key passes up to its limit, with the remaining count, and then gets 429', async () => {
  const { limit } = createLimiter(patient)
  const key = await valid({ rate_limits: issued(2) })
  const first = await limit(key)
  assert.deepEqual([first.allowed, first.code], [true, 'allowed'])
  assert.equal(first.headers['ratelimit-policy'], '"hour";q=2;w=2678400')
  assert.match(first.headers.ratelimit ?? '', /^"hour";r=1;t=\d+$/)
  assert.equal((await limit(key)).allowed, true)
  const denied = await limit(key)
  assert.ok(!denied.allowed)
  const { status, headers, body } = denied.problem
  assert.deepEqual([status, body.code, body.status], [429, 'rate_limited', 429])
  assert.match(body.detail, /"hour"/)
  assert.match(headers['retry-after'] ?? '', /^[1-9]\d*$/)
  assert.match(headers.ratelimit ?? '', /^"hour";r=0;/)
  assert.equal(headers['content-type'], 'application/problem+json')
})

test('a request takes its cost, and cost 0 takes nothing', async () => {
  const { limit } = createLimiter(patient)
  const key = await valid({ rate_limits: issued(10) })
  const left = async (cost: number) =>
    /r=(\d+)/.exec((await limit(key, { cost })).headers.ratelimit ?? '')?.[1]
  assert.deepEqual([await left(0), await left(7), await left(0)], ['10', '3', '3'])
  const never = await limit(key, { cost: 11 })
  assert.ok(!never.allowed)
  assert.equal(never.problem.headers['retry-after'], undefined)
})

test('keys of a tenant share its limits, but not those of a key', async () => {
  const { limit } = createLimiter(patient)
  const rate_limits = issued(1, { id: 'all', scope: 'tenant' })
  const [one, other] = [await valid({ rate_limits }), await valid({ rate_limits })]
  assert.equal((await limit(one)).allowed, true)
  assert.equal((await limit(other)).allowed, false)
})

test('a key without limits passes without a call', async () => {
  const { limiter, errors } = answered(() => assert.fail('asked'))
  const { rateLimits: _, ...plain } = someKey
  const none = { ...plain, rateLimits: null as never }
  for (const key of [plain, { ...plain, rateLimits: [] }, none]) {
    assert.deepEqual(await limiter.limit(key), { allowed: true, code: 'no_limits', headers: {} })
  }
  assert.deepEqual(errors, [])
})

test('without an answer of the service a request gets 503, or passes with `allow`', async () => {
  const ok = (body: unknown) => async () => Response.json(body)
  const headers = { 'RateLimit-Policy': '"hour";q=1;w=1', RateLimit: '"hour";r=0;t=1' }
  const verdict = { object: 'ratelimit_check', allowed: true, headers }
  const problems: [string, () => Promise<Response>][] = [
    ['network_error', () => Promise.reject(new Error('no way'))],
    // They ignore their signal.
    ['timeout', () => new Promise(() => {})],
    ['timeout', async () => new Response(new ReadableStream())],
    ['http_500', async () => new Response('<html>', { status: 500 })],
    ['bad_response', async () => new Response('<html>')],
    ['bad_response', ok(null)],
    ['bad_response', ok({ ...verdict, object: 'list' })],
    ['bad_response', ok({ ...verdict, allowed: 'yes' })],
    ['bad_response', ok({ ...verdict, allowed: false })],
    ['bad_response', ok({ ...verdict, headers: undefined })],
    ['bad_response', ok({ ...verdict, headers: { ...headers, RateLimit: 'a\r\nset-cookie: b' } })],
    ['response_too_large', async () => new Response('x'.repeat(70_000))],
  ]
  for (const [code, answer] of problems) {
    const denying = answered(answer, { timeoutMs: 20 })
    const denied = await denying.limiter.limit(someKey)
    assert.ok(!denied.allowed)
    assert.deepEqual([denied.problem.status, denied.problem.body.code], [503, 'limits_unavailable'])
    assert.equal(denied.problem.headers['retry-after'], '1')
    const allowing = answered(answer, { timeoutMs: 20, onUnavailable: 'allow' })
    const allowed = await allowing.limiter.limit(someKey)
    assert.deepEqual([allowed.allowed, allowed.code, allowed.headers], [true, 'unchecked', {}])
    for (const { errors } of [denying, allowing])
      assert.deepEqual(
        errors.map(error => error.code),
        [code],
      )
  }
})

test('a refusal by the service is no outage: the request is refused also with `allow`', async () => {
  for (const [status, code] of [
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [400, 'validation_failed'],
  ] as const) {
    const refuse = async () => Response.json({ code }, { status })
    const { limiter, errors } = answered(refuse, { onUnavailable: 'allow' })
    assert.equal((await limiter.limit(someKey)).code, 'limits_unavailable')
    assert.deepEqual(
      errors.map(error => error.code),
      [code],
    )
  }
})

test('a secret key that may not check limits lets requests pass, and is reported once', async () => {
  const code = 'insufficient_permission'
  const detail = 'The secret key lacks the permission ratelimit:check.'
  const errors: KeyrailError[] = []
  const world = { time: 0, calls: 0, status: 403 }
  const headers = { 'RateLimit-Policy': '"hour";q=1;w=1', RateLimit: '"hour";r=0;t=1' }
  const fetch = async () => {
    world.calls += 1
    if (world.status === 403) return Response.json({ code, detail }, { status: 403 })
    return Response.json({ object: 'ratelimit_check', allowed: true, headers })
  }
  for (const prepay of [undefined, {}]) {
    Object.assign(world, { calls: 0, status: 403 })
    const options = { ...settings, fetch, prepay, onError: (error: KeyrailError) => errors.push(error) }
    const { limit } = openLimiter(options, { now: () => world.time })
    const passes = async () => {
      const { allowed, code } = await limit(someKey)
      return [allowed, code, world.calls]
    }
    assert.deepEqual([await passes(), await passes()], Array(2).fill([true, 'unchecked', 1]))
    world.time += 10_000
    assert.deepEqual(await passes(), [true, 'unchecked', 2])
    assert.deepEqual(
      errors.splice(0).map(({ message }) => message),
      [
        'POST /v1/ratelimit/check was answered 403 insufficient_permission: The secret key lacks the permission ratelimit:check. Requests pass without limits: give it the preset node, or say limiter: false',
      ],
    )
    world.time += 10_000
    world.status = 200
    assert.deepEqual(await passes(), [true, 'allowed', 3])
  }
})

test('a counter that the service cannot hold says nothing about a key: `onUnavailable` decides', async () => {
  const full = async () => Response.json({ code: 'counter_limit_reached' }, { status: 409 })
  for (const prepay of [undefined, {}]) {
    const allowing = answered(full, { onUnavailable: 'allow', prepay })
    assert.equal((await allowing.limiter.limit(someKey)).code, 'unchecked')
    assert.equal(allowing.limiter.stats().unitsUnused, 0)
    const denying = answered(full, { prepay })
    const denied = await denying.limiter.limit(someKey)
    assert.ok(!denied.allowed)
    assert.deepEqual([denied.code, denied.problem.status], ['limits_unavailable', 503])
    for (const { errors } of [allowing, denying])
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['counter_limit_reached'],
      )
  }
})

test('an argument that is not a valid verdict or cost gets 500, and onError says why', async () => {
  const { limiter, errors } = answered(() => assert.fail('asked'), { onUnavailable: 'allow' })
  const odd = [
    [undefined],
    [null],
    [{}],
    [true],
    [refused.unknown_key],
    [{ ...someKey, valid: false, rateLimits: [] }],
    [{ ...someKey, keyId: undefined }],
    [{ ...someKey, env: 'both' }],
    [{ ...someKey, rateLimits: 7 }],
    [someKey, null],
    [someKey, { cost: 1n }],
    [someKey, { cost: -1 }],
    [someKey, { cost: 1_001 }],
    [someKey, { costs: 5 }],
    [{ ...someKey, rateLimits: [] }, { cost: 0.5 }],
  ]
  for (const [key, requirements] of odd as Parameters<typeof limiter.limit>[]) {
    const verdict = await limiter.limit(key, requirements)
    assert.ok(!verdict.allowed)
    assert.deepEqual([verdict.code, verdict.problem.status], ['misused', 500])
  }
  assert.deepEqual(
    errors.map(({ code }) => code),
    odd.map(() => 'misused'),
  )
  assert.match(
    errors[4]?.message ?? '',
    /a key refused as unknown_key: call it only if verdict\.valid is true/,
  )
})

test('a flood from one customer costs few calls, and passes up to the limit', async () => {
  let calls = 0
  const counted: typeof fetch = (...given) => {
    calls++
    return fetch(...given)
  }
  // A stopped clock: no denial is dropped, however slow the machine is.
  const { limit } = openLimiter({ ...settings, fetch: counted }, { now: () => 0 })
  const key = await valid({ rate_limits: issued(5) })
  let passed = 0
  for (let request = 0; request < 200; request++) if ((await limit(key)).allowed) passed++
  assert.deepEqual([passed, calls], [5, 6])
})

test('while the service hangs one check at a time is sent, and the others are decided at once', async () => {
  for (const onUnavailable of ['deny', 'allow'] as const) {
    let calls = 0
    let answer: () => Promise<Response> = () => new Promise(() => {})
    const service = () => {
      calls++
      return answer()
    }
    const { limiter, errors } = answered(service, { timeoutMs: 20, onUnavailable })
    for (let request = 0; request < 5; request++) await limiter.limit(someKey)
    const probe = limiter.limit(someKey)
    const others = await Promise.all(Array.from({ length: 50 }, () => limiter.limit(someKey)))
    const expected = onUnavailable === 'allow' ? 'unchecked' : 'limits_unavailable'
    assert.ok(others.every(({ code }) => code === expected))
    assert.equal((await probe).code, expected)
    assert.deepEqual([calls, errors.length], [6, 6])
    const headers = { 'RateLimit-Policy': '"hour";q=1;w=1', RateLimit: '"hour";r=0;t=1' }
    answer = async () => Response.json({ object: 'ratelimit_check', allowed: true, headers })
    assert.equal((await limiter.limit(someKey)).code, 'allowed')
    const first = limiter.limit(someKey)
    await turn()
    const all = await Promise.all([first, limiter.limit(someKey)])
    assert.deepEqual([all.map(({ code }) => code), calls], [['allowed', 'allowed'], 9])
  }
})

test('a failed check is not repeated, because it may have been charged', async () => {
  let calls = 0
  const { limiter } = answered(() => Promise.reject(new Error(`call ${++calls}`)))
  await limiter.limit(someKey)
  assert.equal(calls, 1)
})

test('a wrong option is an error at startup that shows no secret', () => {
  const secretKey = drawKey('krsk_live')
  for (const [name, wrong] of [
    ['url', 'ftp://x'],
    ['secretKey', drawKey('kr_live')],
    ['project', 'payments'],
    ['timeoutMs', 0],
    ['onUnavailable', 'perhaps'],
    ['fetch', {}],
    ['onError', 'x'],
    ['on_unavailable', 'allow'],
  ] as const) {
    assert.throws(
      () => createLimiter({ ...settings, secretKey, [name]: wrong } as LimiterOptions),
      (error: Error) =>
        error instanceof TypeError && error.message.includes(name) && !error.message.includes(secretKey),
    )
  }
})
