import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { failureOf } from '../../test/failure-of.ts'
import { type FeedService, secretKey, startFeedService } from '../../test/feed-service.ts'
import { type Carrier, overEach } from '../../test/transports.ts'
import { until } from '../../test/until.ts'
import { problemError } from '../http/failure.ts'
import { createFeedClient, type FeedRequest } from './client.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const request = (more: Partial<FeedRequest> = {}): FeedRequest => ({
  path: '/v1/policy/snapshot',
  query: new URLSearchParams({ max_keys: '10' }),
  timeoutMs: 10_000,
  signal: new AbortController().signal,
  ...more,
})

const clientOf = (fetch?: Carrier, url = service.url) =>
  createFeedClient({ url: new URL(url), secretKey, fetch })

const failure = (running: Promise<unknown>) => failureOf(running, secretKey)

overEach('an error has code, status, request id, documentation and whether to retry', async fetch => {
  service.instead.push({
    status: 401,
    headers: { 'content-type': 'application/problem+json' },
    body: {
      type: 'https://keys.example/errors/unauthenticated',
      code: 'unauthenticated',
      detail: `No such key as ${secretKey}.`,
      request_id: 'req_1',
      errors: [{ path: 'a', message: `has ${secretKey}` }, { path: 'b' }, null, 7],
    },
  })
  const error = await failure(clientOf(fetch)(request()))
  assert.deepEqual(
    { ...error },
    {
      name: 'KeyrailError',
      code: 'unauthenticated',
      status: 401,
      requestId: 'req_1',
      docUrl: 'https://keys.example/errors/unauthenticated',
      errors: [{ path: 'a', message: 'has [secret key]' }],
      retryable: false,
      retryAfterMs: undefined,
      resourceId: undefined,
    },
  )
  assert.match(error.message, /answered 401 unauthenticated: No such key as \[secret key\]/)
})

test('an answer without a code gets http_<status>, and invalid fields are left out', async () => {
  service.instead.push(
    { status: 502, body: '<html>', headers: { 'retry-after': '3' } },
    { status: 429, body: '[]' },
    { status: 404, body: { code: 'NOT FOUND', type: 'javascript:alert(1)', request_id: 'x\ny', detail: 7 } },
    { status: 400, body: { code: 'x', detail: 'y'.repeat(60_000) } },
  )
  const client = clientOf()
  const [gateway, throttled, missing, long] = [
    await failure(client(request())),
    await failure(client(request())),
    await failure(client(request())),
    await failure(client(request())),
  ]
  assert.deepEqual([gateway.code, gateway.retryable, gateway.retryAfterMs], ['http_502', true, 3_000])
  assert.deepEqual([throttled.code, throttled.retryable], ['http_429', true])
  assert.deepEqual([missing.code, missing.docUrl, missing.requestId], ['http_404', undefined, undefined])
  assert.deepEqual([missing.retryable, long.retryable], [true, false])
  assert.ok(long.message.length < 400)
})

test('no error contains a secret that the answer echoes, whole or cut', () => {
  const echo = (detail: string) =>
    JSON.stringify({ code: 'odd', detail, request_id: secretKey, type: `https://a.b/${secretKey}` })
  for (let before = 240; before < 310; before += 1) {
    const response = new Response(null, { status: 400, headers: { 'x-request-id': secretKey } })
    const error = problemError('/v1/policy/delta', response, echo('y'.repeat(before) + secretKey), {
      secretKey,
      origin: 'https://keys.example.com',
    })
    const shown = inspect(error, { depth: 9, showHidden: true })
    assert.ok(!shown.includes(secretKey.slice(0, 6)), shown)
  }
})

overEach('a redirect is refused, so that the secret is sent nowhere else', async fetch => {
  const elsewhere = await startFeedService()
  try {
    service.instead.push({ status: 307, headers: { location: `${elsewhere.url}/v1/policy/snapshot` } })
    assert.equal((await failure(clientOf(fetch)(request()))).code, 'network_error')
    assert.equal(elsewhere.asked.length, 0)
  } finally {
    await elsewhere.close()
  }
})

overEach('no connection and a closed one are retryable network errors', async fetch => {
  const refused = await failure(clientOf(fetch, 'http://127.0.0.1:2')(request()))
  assert.deepEqual([refused.code, refused.retryable], ['network_error', true])
  service.instead.push({ hang: true })
  const running = failure(clientOf(fetch)(request()))
  await until(() => service.asked.length === 1, 'the service has the request')
  await service.close()
  assert.equal((await running).code, 'network_error')
})

overEach('a service that does not answer is a timeout', async fetch => {
  service.instead.push({ hang: true })
  const error = await failure(clientOf(fetch)(request({ timeoutMs: 50 })))
  assert.deepEqual([error.code, error.retryable], ['timeout', true])
})

overEach('closing ends requests in flight, and ones not yet sent', async fetch => {
  const closing = new AbortController()
  service.instead.push({ hang: true })
  const running = failure(clientOf(fetch)(request({ signal: closing.signal })))
  await until(() => service.asked.length === 1, 'the service has the request')
  closing.abort()
  assert.equal((await running).code, 'closed')
  assert.equal((await failure(clientOf(fetch)(request({ signal: closing.signal })))).code, 'closed')
})

test('an error that a custom fetch throws is not shown', async () => {
  for (const thrown of [
    new Error(`sent ${secretKey}`),
    secretKey,
    undefined,
    { cause: { code: secretKey } },
  ]) {
    const error = await failure(clientOf(() => Promise.reject(thrown))(request()))
    assert.equal(error.code, 'network_error')
  }
})

test('a body that never ends is aborted', async () => {
  const chunk = new Uint8Array(1024 * 1024)
  let cancelled = false
  const endless = new ReadableStream({
    pull: controller => controller.enqueue(chunk),
    cancel: () => {
      cancelled = true
    },
  })
  const error = await failure(clientOf(async () => new Response(endless))(request()))
  assert.equal(error.code, 'response_too_large')
  assert.ok(cancelled)
})

overEach('a base address with a path keeps it', async fetch => {
  await clientOf(fetch, `${service.url}/keyrail/`)(request({ path: '/v1/policy/delta' }))
  assert.equal(service.asked[0]?.url.pathname, '/keyrail/v1/policy/delta')
})

overEach('compressed answers are read', async fetch => {
  const body = gzipSync(JSON.stringify({ a: 1 }))
  service.instead.push({ headers: { 'content-encoding': 'gzip' }, body })
  assert.deepEqual((await clientOf(fetch)(request())).body, { a: 1 })
})
