import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { createIdempotency, type Idempotency } from '../src/idempotency/idempotent.ts'
import type { Keyring } from '../src/keyring/keyring.ts'
import { createLimiter, type Limiter } from '../src/limits/limit.ts'
import { createTestKeyring } from '../src/testing.ts'
import { createUsageReporter, type UsageReporter } from '../src/usage/reporter.ts'
import { testDoubles } from './doubles-api.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/**
 * The behaviour of a protected API in every framework. Each test file of a framework builds this API, and
 * every test uses a real socket and the real service.
 *
 * - `GET /orders`: `{ tenantId }` of the key
 * - `GET /write`: needs the scope `orders:write`; text `wrote`
 * - `POST /payments`: `work()` as JSON with status 201, the header `location: /payments/<calls>`
 * - `POST /broken`: calls `work()` and fails with a 5xx
 * - `POST /large`: calls `work()`, answers with 2,000 letters
 *
 * `POST` routes are idempotent, all routes limited and counted. `/write` costs 2.
 */
interface ApiParts {
  keyring: Pick<Keyring, 'verify'>
  limiter: Limiter
  idempotency: Idempotency
  usage: UsageReporter
  /** The work of the routes. */
  work(body: unknown): Promise<{ calls: number; body: unknown }>
}

export type BuildApi = (parts: ApiParts) => Promise<string>

export async function testProtectedApi(name: string, buildApi: BuildApi): Promise<void> {
  testDoubles(name, buildApi)
  const { settings, patient, connection, issue, openKeyring, vendor } = await startKeyrail()
  const minute = { id: 'month', window_ms: 31 * 86_400_000, algorithm: 'fixed', scope: 'key' }
  const issued = (limit: number, scopes = ['orders:read', 'orders:write']) =>
    issue({ scopes, rate_limits: [{ ...minute, limit }] })
  const [plenty, few, single] = [await issued(1_000), await issued(3), await issued(1)]
  const narrow = await issued(1_000, [])
  const keyring = await openKeyring()
  const usage = createUsageReporter(connection)
  const world = { calls: 0, gate: Promise.resolve() }
  const parts: ApiParts = {
    keyring,
    limiter: createLimiter(patient),
    idempotency: createIdempotency({ ...patient, maxBodyBytes: 1_000 }),
    usage,
    async work(body) {
      const calls = ++world.calls
      await world.gate
      return { calls, body }
    },
  }
  const caller =
    (url: string) =>
    async (path: string, { key, method = 'GET', body, headers = {} }: Asked = {}) => {
      const sent = httpRequest(url + path, {
        method,
        agent: false,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
      })
      sent.end(body)
      const [response] = await once(sent, 'response')
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const type = String(response.headers['content-type'])
      return {
        status: response.statusCode as number,
        headers: response.headers as Record<string, string | undefined>,
        type,
        text,
        // biome-ignore lint/suspicious/noExplicitAny: the assertions check the value.
        body: (type.includes('json') ? JSON.parse(text) : text) as any,
      }
    }
  const ask = caller(await buildApi(parts))
  const pay = (more: Asked = {}) =>
    ask('/payments', { key: plenty.key, method: 'POST', body: '{"amount":"12.50"}', ...more })
  const keyed = (idempotencyKey: string) => ({ 'idempotency-key': idempotencyKey })

  test(`${name}: a request with a valid key reaches the route, which gets the key`, async () => {
    const { status, body } = await ask('/orders', { key: plenty.key })
    assert.deepEqual([status, body], [200, { tenantId: vendor.tenantId }])
  })

  test(`${name}: a missing or wrong key gets a 401 problem with its code`, async () => {
    const { key } = createTestKeyring().issue()
    const two = [`Bearer ${plenty.key}`, `Bearer ${plenty.key}`] as unknown as string
    for (const [headers, code, challenge] of [
      [{}, 'missing_key', 'Bearer'],
      [{ authorization: `Bearer ${plenty.key.slice(1)}` }, 'malformed_key', 'Bearer error="invalid_token"'],
      [{ authorization: `Bearer ${key}` }, 'unknown_key', 'Bearer error="invalid_token"'],
      [{ authorization: two }, 'malformed_key', 'Bearer error="invalid_token"'],
    ] as const) {
      for (const method of ['GET', 'POST']) {
        const path = method === 'GET' ? '/orders' : '/payments'
        const answer = await ask(path, { method, headers: { ...headers, ...keyed('k') } })
        assert.deepEqual([answer.status, answer.body.code], [401, code])
        assert.equal(answer.headers['www-authenticate'], challenge)
        assert.match(answer.type, /^application\/problem\+json/)
      }
    }
    assert.equal(world.calls, 0)
  })

  test(`${name}: a key without the scope of a route gets 403 with the scopes`, async () => {
    assert.equal((await ask('/write', { key: plenty.key })).text, 'wrote')
    const { status, body } = await ask('/write', { key: narrow.key })
    assert.deepEqual([status, body.code, body.scopes], [403, 'insufficient_scope', ['orders:write']])
  })

  test(`${name}: every answer has the limits, and a key that has used them up gets 429`, async () => {
    const first = await ask('/orders', { key: few.key })
    assert.match(first.headers.ratelimit ?? '', /^"month";r=2;/)
    assert.match(first.headers['ratelimit-policy'] ?? '', /^"month";q=3;/)
    assert.equal((await ask('/write', { key: few.key })).status, 200)
    const denied = await ask('/orders', { key: few.key })
    assert.deepEqual([denied.status, denied.body.code], [429, 'rate_limited'])
    assert.match(denied.headers['retry-after'] ?? '', /^\d+$/)
    assert.match(denied.headers.ratelimit ?? '', /^"month";r=0;/)
    assert.match(denied.type, /^application\/problem\+json/)
  })

  test(`${name}: a request with an Idempotency-Key is executed once and then replayed`, async () => {
    const before = world.calls
    const first = await pay({ headers: keyed('once') })
    assert.deepEqual(
      [first.status, first.body, first.headers.location],
      [201, { calls: before + 1, body: { amount: '12.50' } }, `/payments/${before + 1}`],
    )
    const again = await pay({ headers: keyed('once') })
    assert.deepEqual(
      [again.status, again.text, again.type, again.headers.location],
      [201, first.text, first.type, first.headers.location],
    )
    assert.deepEqual(
      [first.headers['idempotent-replayed'], again.headers['idempotent-replayed']],
      [undefined, 'true'],
    )
    assert.match(again.headers.ratelimit ?? '', /^"month"/)
    assert.equal(world.calls, before + 1)
    const other = await pay({ headers: keyed('once'), body: '{"amount":"99.00"}' })
    assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_reused'])
    const twice = await pay({ headers: { 'idempotency-key': ['a', 'a'] as unknown as string } })
    assert.deepEqual([twice.status, twice.body.code], [400, 'idempotency_key_invalid'])
  })

  test(`${name}: without an Idempotency-Key every request is executed`, async () => {
    const before = world.calls
    await pay()
    await pay()
    assert.equal(world.calls, before + 2)
  })

  test(`${name}: while the first request runs, the second gets 409 with Retry-After`, async () => {
    const before = world.calls
    const { promise, resolve } = Promise.withResolvers<void>()
    world.gate = promise
    const first = pay({ headers: keyed('slow') })
    await until(() => world.calls > before, 'the first request runs')
    const { status, body, headers } = await pay({ headers: keyed('slow') })
    assert.deepEqual([status, body.code], [409, 'idempotency_in_progress'])
    assert.match(headers['retry-after'] ?? '', /^\d+$/)
    resolve()
    assert.equal((await first).status, 201)
    assert.equal((await pay({ headers: keyed('slow') })).headers['idempotent-replayed'], 'true')
    assert.equal(world.calls, before + 1)
  })

  test(`${name}: a failed request is executed again, and one with a large answer is not`, async () => {
    const before = world.calls
    const post = (path: string) =>
      ask(path, { key: plenty.key, method: 'POST', body: '{}', headers: keyed(path) })
    for (let round = 1; round <= 2; round++) {
      assert.ok((await post('/broken')).status >= 500)
      assert.equal(world.calls, before + round)
    }
    const large = await post('/large')
    assert.deepEqual([large.status, large.text.length], [200, 2_000])
    const again = await post('/large')
    assert.deepEqual([again.status, again.body.code], [409, 'idempotency_not_replayable'])
    assert.equal(world.calls, before + 3)
  })

  test(`${name}: nothing is executed while keys, limits or claims cannot be checked`, async () => {
    const before = world.calls
    const away = { ...settings, fetch: () => Promise.reject(new Error('away')), onError: () => {} }
    const test = createTestKeyring()
    const { key } = test.issue({
      rateLimits: [{ id: 'a', limit: 1, windowMs: 1_000, algorithm: 'fixed', scope: 'key' }],
    })
    const plain = test.issue()
    const counted = createUsageReporter({ ...connection, onError: () => {} })
    const lost = caller(
      await buildApi({
        ...parts,
        keyring: test,
        limiter: createLimiter(away),
        idempotency: createIdempotency(away),
        // Nest closes the parts itself.
        usage: counted,
      }),
    )
    const post = { method: 'POST', body: '{}', headers: keyed('k') }
    const codes = []
    for (const used of [key, plain.key]) {
      const { status, body, headers } = await lost('/payments', { key: used, ...post })
      codes.push([status, body.code, headers['retry-after']])
    }
    test.lose()
    const { status, body, headers } = await lost('/payments', { key: plain.key, ...post })
    codes.push([status, body.code, headers['retry-after']])
    assert.deepEqual(codes, [
      [503, 'limits_unavailable', '1'],
      [503, 'idempotency_unavailable', '1'],
      [503, 'stale', '5'],
    ])
    assert.equal(world.calls, before)
    await counted.close()
  })

  test(`${name}: each request that passes is counted once, and none that a limit refused`, async () => {
    await usage.flush()
    const { reported } = usage.stats()
    const statuses = []
    for (const key of [plenty.key, single.key, single.key, undefined])
      statuses.push((await ask('/orders', key === undefined ? {} : { key })).status)
    assert.deepEqual(statuses, [200, 200, 429, 401])
    await pay()
    await usage.close()
    assert.equal(usage.stats().reported, reported + 3)
  })
}

interface Asked {
  key?: string
  method?: string
  body?: string
  headers?: Record<string, string>
}
