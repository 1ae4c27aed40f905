import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import type { Valid } from '../verify/verdict.ts'
import { openLimiter } from './limit.ts'
import type { PrepayOptions } from './prepay.ts'

/** Denials on the test's clock, without a service. */

const settings = {
  url: 'https://keys.example.com',
  secretKey: drawKey('krsk_live'),
  project: id(3),
}

const denied = (ids: string[], retry_after_ms: number | null, rules = [hourly(1)]) =>
  Response.json({
    object: 'ratelimit_check',
    allowed: false,
    denied_by: ids,
    retry_after_ms,
    headers: {
      'RateLimit-Policy': rules.map(({ id, limit }) => `"${id}";q=${limit};w=60`).join(', '),
      RateLimit: rules.map(({ id }) => `"${id}";r=0;t=60`).join(', '),
      ...(retry_after_ms !== null && { 'Retry-After': String(Math.ceil(retry_after_ms / 1_000)) }),
    },
  })

/** A limiter on the test's clock whose service denies everything, and the costs that it received. */
function denying(answer: () => Response, prepay?: PrepayOptions) {
  const time = { now: 5_000 }
  const asked: number[] = []
  const fetch = async (_: unknown, init?: RequestInit) => {
    asked.push(JSON.parse(String(init?.body)).cost)
    return answer()
  }
  const limiter = openLimiter({ ...settings, fetch, prepay }, { now: () => time.now })
  const code = async (key: Valid, cost = 1) => (await limiter.limit(key, { cost })).code
  return { time, asked, limiter, code }
}

test('a counter that denied is not checked again before units can be left, one second at most', async () => {
  for (const [retryAfterMs, until] of [
    [400, 400],
    [60_000, 1_000],
    [null, 1_000],
  ] as const) {
    const { time, asked, limiter, code } = denying(() => denied(['hour'], retryAfterMs))
    await code(someKey)
    time.now += until - 1
    const again = await limiter.limit(someKey)
    assert.ok(!again.allowed)
    assert.deepEqual([again.code, again.problem.status, asked.length], ['rate_limited', 429, 1])
    assert.equal(again.headers.ratelimit, '"hour";r=0;t=60')
    const left = retryAfterMs === null ? undefined : String(Math.ceil((retryAfterMs - until + 1) / 1_000))
    assert.equal(again.headers['retry-after'], left)
    time.now += 1
    await code(someKey)
    assert.equal(asked.length, 2)
  }
})

test('a lower cost, another key and a changed limit are checked', async () => {
  const { asked, code } = denying(() => denied(['hour'], 60_000))
  await code(someKey, 5)
  await code(someKey, 6)
  assert.deepEqual(asked, [5])
  await code(someKey, 4)
  await code({ ...someKey, keyId: id(9) }, 7)
  await code({ ...someKey, env: 'test' }, 8)
  await code({ ...someKey, rateLimits: [hourly(2)] }, 9)
  assert.deepEqual(asked, [5, 4, 7, 8, 9])
})

test('keys of a tenant share the denials of its counters, and only these', async () => {
  const rules = [hourly(3), hourly(1, { id: 'all', scope: 'tenant' })]
  const { asked, limiter, code } = denying(() => denied(['all'], 60_000, rules))
  await code({ ...someKey, rateLimits: rules })
  const other = await limiter.limit({ ...someKey, keyId: id(9), rateLimits: rules.toReversed() })
  assert.deepEqual([other.code, asked.length], ['rate_limited', 1])
  assert.equal(other.headers['ratelimit-policy'], '"all";q=1;w=60')
})

test('after a denial by several counters only the same key is denied without a check', async () => {
  const rules = [hourly(3), hourly(1, { id: 'all', scope: 'tenant' })]
  const { asked, code } = denying(() => denied(['hour', 'all'], 60_000, rules))
  await code({ ...someKey, rateLimits: rules })
  await code({ ...someKey, rateLimits: rules })
  assert.equal(asked.length, 1)
  await code({ ...someKey, keyId: id(9), rateLimits: rules })
  assert.equal(asked.length, 2)
})

test('gathering, a sliding limit is asked again after a sixteenth of its window', async () => {
  for (const [algorithm, until] of [
    ['sliding', 225_000],
    ['fixed', 400],
  ] as const) {
    const key = { ...someKey, rateLimits: [hourly(1, { algorithm, windowMs: 3_600_000 })] }
    const { time, asked, limiter, code } = denying(() => denied(['hour'], 400), { gather: true })
    await code(key)
    time.now += until - 1
    const again = await limiter.limit(key)
    assert.deepEqual([again.code, again.headers['retry-after'], asked.length], ['rate_limited', '1', 1])
    time.now += 1
    await code(key)
    assert.ok(asked.length > 1)
  }
})
