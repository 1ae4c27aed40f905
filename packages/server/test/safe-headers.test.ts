import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { startHarness } from './harness.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'
import { openWire } from './wire.ts'

/** No cache may store a response, and no browser may guess its type, whichever part of the service sends it. */
const harness = await startHarness()
const { app } = harness
const vendor = await makeVendor(harness)
const wire = await openWire(harness)

type Headers = Record<string, string | string[] | number | undefined>

/** The caching of a success. Anyone may cache published keys; only the caller may cache pages of the feed. */
const cachingOf = ({ path, plane }: Route): RegExp =>
  path.includes('/.well-known/')
    ? /^public, max-age=300$/
    : plane === 'feed'
      ? /^private, no-cache$/
      : /^no-store$/

function assertSafe(headers: Headers, what: string, caching = /^no-store$/): void {
  assert.equal(headers['x-content-type-options'], 'nosniff', `${what}: nosniff`)
  assert.match(String(headers['cache-control']), caching, `${what}: cache-control`)
}

for (const route of routes) {
  test(`${nameOf(route)} sends no-store and nosniff with every success and refusal`, async () => {
    const { url, token, body, signed } = await sampleOf(route, harness, vendor)
    const sent = {
      token,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...signed?.headers,
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
      ...(signed !== undefined && { payload: signed.body }),
    }
    const isRead = route.body !== null || route.signed !== null
    const refused = {
      ...(!route.access.open && {
        'no credential': { ...sent, token: undefined },
        'a wrong credential': { ...sent, token: 'krsk_live_nobody' },
      }),
      ...(isRead && {
        'no JSON': { ...sent, payload: '{' },
        'odd content type': {
          ...sent,
          headers: { ...sent.headers, 'content-type': 'text/odd' },
          payload: 'x',
        },
        'too large': { ...sent, payload: ' '.repeat(route.bodyLimit + 1) },
      }),
    }
    for (const [what, request] of Object.entries(refused)) {
      const { status, headers } = await sendBytes(harness, route.method, url, request)
      assert.ok(status >= 400, `${what}: ${status}`)
      assertSafe(headers, `${what}, ${status}`)
    }
    const { status, headers } = await sendBytes(harness, route.method, url, sent)
    assert.equal(status, route.answer.status)
    assertSafe(headers, 'success', cachingOf(route))
    const wrong = await app.inject({ method: 'PUT', url })
    assert.equal(wrong.statusCode, 405)
    assertSafe(wrong.headers, 'another method')
    if (route.method === 'GET') {
      const head = await app.inject({
        method: 'HEAD',
        url,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
      assert.equal(head.statusCode, route.answer.status)
      assertSafe(head.headers, 'HEAD', cachingOf(route))
    }
    if (route.plane === 'embed') {
      const preflight = await app.inject({ method: 'OPTIONS', url, headers: { origin: 'https://a.example' } })
      assert.equal(preflight.statusCode, 204)
      assertSafe(preflight.headers, 'preflight')
    }
  })
}

test('unknown routes, undecodable paths and malformed requests send them too', async () => {
  for (const url of ['/nothing', '/v1/nothing', '/docs/nothing', '/app/assets/nothing']) {
    const { statusCode, headers } = await app.inject({ url })
    assert.equal(statusCode, 404)
    assertSafe(headers, url)
  }
  const undecodable = await app.inject({ url: '/v1/keys/%zz' })
  assert.equal(undecodable.statusCode, 400)
  assertSafe(undecodable.headers, 'undecodable')
  for (const [bytes, status] of [
    ['hello\r\n\r\n', 400],
    [`GET /healthz HTTP/1.1\r\nhost: here\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    ['POST /v1/tenants HTTP/1.1\r\nhost: here\r\ncontent-length: x\r\n\r\n', 400],
  ] as const) {
    const [answer] = await wire.send(bytes)
    assert.equal(answer?.status, status)
    assertSafe(answer.headers, bytes.slice(0, 40))
  }
})
