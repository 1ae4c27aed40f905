import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { drawKey, id } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import { answerChecks } from '../testing/checks.ts'
import { openLimiter } from './limit.ts'

type Body = { checks?: Record<string, unknown>[] }
type Answer = (path: string, body: Body) => Promise<Response> | Response

const answers = () => answerChecks(() => 0) as unknown as Record<string, (body: Body) => object>

/** A limiter before a service that answers with `answer`, or else as the real one. */
function limiterOn(answer: Answer = () => new Response(), more: object = {}) {
  const real = answers()
  const calls: { path: string; body: Body }[] = []
  const errors: string[] = []
  let time = 0
  const limiter = openLimiter(
    {
      url: 'https://keys.example.com',
      secretKey: drawKey('krsk_live'),
      project: id(3),
      onError: ({ code }) => void errors.push(code),
      async fetch(url, init) {
        const path = String(url).replace(/^.*\/v1\//, '')
        const body = JSON.parse(String(init?.body))
        calls.push({ path, body })
        return (await answer(path, body)) ?? Response.json(real[path]?.(body))
      },
      ...more,
    },
    { now: () => time },
  )
  return {
    limiter,
    calls,
    errors,
    pass: (ms: number) => {
      time += ms
    },
  }
}
const listOf = (real: ReturnType<typeof answers>, path: string, body: Body) =>
  (real[path] as (body: Body) => { checks: object[] })(body)
const asReal = (() => undefined) as unknown as Answer
const keyOf = (n: number, more: object = {}) => ({
  ...someKey,
  keyId: id(n),
  rateLimits: [hourly(100)],
  ...more,
})
const many = (count: number, from = 0) => Array.from({ length: count }, (_, n) => keyOf(from + n))

test('the checks of one turn are one call, in their order; one check is a call by itself', async () => {
  const { limiter, calls } = limiterOn(asReal)
  const verdicts = await Promise.all(many(30).map(key => limiter.limit(key)))
  assert.ok(verdicts.every(({ code }) => code === 'allowed'))
  assert.deepEqual(
    calls.map(({ path }) => path),
    ['ratelimit/checks'],
  )
  assert.deepEqual(
    calls[0]?.body.checks?.map(({ key_id }) => key_id),
    many(30).map(({ keyId }) => keyId),
  )
  await limiter.limit(keyOf(1))
  assert.equal(calls[1]?.path, 'ratelimit/check')
  assert.equal(limiter.stats().calls, 2)
})

test('requests that arrive while a call is under way do not wait for it', async () => {
  const first = Promise.withResolvers<void>()
  let calls = 0
  const { limiter } = limiterOn(async () => {
    if (calls++ === 0) await first.promise
    return undefined as unknown as Response
  })
  const slow = Promise.all(many(3).map(key => limiter.limit(key)))
  await turn()
  const quick = await Promise.all(many(3, 10).map(key => limiter.limit(key)))
  assert.ok(quick.every(({ code }) => code === 'allowed'))
  first.resolve()
  assert.ok((await slow).every(({ code }) => code === 'allowed'))
})

test('a list has at most 100 checks, and at most 250 KiB', async () => {
  const { limiter, calls } = limiterOn(asReal)
  await Promise.all(many(250).map(key => limiter.limit(key)))
  assert.deepEqual(
    calls.splice(0).map(({ body }) => body.checks?.length),
    [100, 100, 50],
  )
  const rateLimits = Array.from({ length: 8 }, (_, n) => hourly(100, { id: `${n}`.repeat(64) }))
  const long = many(100).map(key => ({ ...key, rateLimits }))
  await Promise.all(long.map(key => limiter.limit(key)))
  assert.ok(calls.every(({ body }) => JSON.stringify(body).length <= 256 * 1_024))
  assert.equal(
    calls.reduce((sum, { body }) => sum + (body.checks?.length ?? 0), 0),
    100,
  )
})

test('a service without lists is asked one by one, and about lists again a minute later', async () => {
  const { limiter, calls, errors, pass } = limiterOn((path => {
    if (path !== 'ratelimit/checks') return undefined
    return Response.json({ code: 'route_not_found', status: 404 }, { status: 404 })
  }) as Answer)
  const ask = () => Promise.all(many(3).map(key => limiter.limit(key)))
  const pathsOf = async () => {
    assert.ok((await ask()).every(({ code }) => code === 'allowed'))
    return calls.splice(0).map(({ path }) => path.slice('ratelimit/'.length))
  }
  assert.deepEqual(await pathsOf(), ['checks', 'check', 'check', 'check'])
  assert.deepEqual(await pathsOf(), ['check', 'check', 'check'])
  pass(60_000)
  assert.deepEqual(await pathsOf(), ['checks', 'check', 'check', 'check'])
  assert.deepEqual(errors, [])
})

test('one check that is refused costs itself, by its own error', async () => {
  const error = { code: 'counter_limit_reached', status: 409, detail: 'Full.', title: 'Full' }
  const real = answers()
  const { limiter, errors } = limiterOn((path, body) => {
    const { checks, ...rest } = listOf(real, path, body)
    return Response.json({ ...rest, checks: checks.map((check, at) => (at === 1 ? { error } : check)) })
  })
  const codes = (await Promise.all(many(3).map(key => limiter.limit(key)))).map(({ code }) => code)
  assert.deepEqual([codes, errors], [['allowed', 'limits_unavailable', 'allowed'], ['counter_limit_reached']])
})

test('a list without a usable answer refuses its checks, is said once, and is not asked again', async () => {
  const unusable: Answer[] = [
    () => Promise.reject(new TypeError('fetch failed')),
    () => Response.json({ code: 'unavailable', status: 503 }, { status: 503 }),
    () => Response.json({ object: 'ratelimit_checks', checks: [] }),
    () => Response.json({ object: 'ratelimit_check', allowed: true }),
    () => Response.json({ object: 'ratelimit_checks', checks: 'all' }),
    () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    () => Response.json({ code: 'not_found', status: 404 }, { status: 404 }),
  ]
  for (const answer of unusable) {
    const { limiter, calls, errors } = limiterOn(answer)
    const verdicts = await Promise.all(many(5).map(key => limiter.limit(key)))
    assert.ok(verdicts.every(({ code }) => code === 'limits_unavailable'))
    assert.deepEqual([calls.length, errors.length], [1, 1])
  }
})

test('what one check of a list answers wrongly refuses that one alone', async () => {
  const real = answers()
  for (const wrong of [
    null,
    7,
    'yes',
    {},
    { error: null },
    { object: 'ratelimit_check', allowed: 1 },
    { error: {} },
  ]) {
    const { limiter, errors } = limiterOn((path, body) => {
      const { checks, ...rest } = listOf(real, path, body)
      return Response.json({ ...rest, checks: checks.map((check, at) => (at === 0 ? wrong : check)) })
    })
    const codes = (await Promise.all(many(2).map(key => limiter.limit(key)))).map(({ code }) => code)
    assert.deepEqual([codes, errors.length], [['limits_unavailable', 'allowed'], 1], JSON.stringify(wrong))
  }
})

test('while the service hangs one check at a time is sent, and the others are decided at once', async () => {
  const { limiter, calls, errors } = limiterOn(() => new Promise<Response>(() => {}), { timeoutMs: 20 })
  for (const key of many(5)) await limiter.limit(key)
  calls.length = 0
  const decided: string[] = []
  await Promise.all(many(20).map(async key => decided.push((await limiter.limit(key)).code)))
  assert.deepEqual(
    calls.map(({ path }) => path),
    ['ratelimit/check'],
  )
  assert.deepEqual([new Set(decided), decided.length], [new Set(['limits_unavailable']), 20])
  assert.equal(errors.length, 6)
})
