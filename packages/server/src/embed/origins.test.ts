import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken, setOrigins, signToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { routes } from '../routes.ts'

/** The origins whose pages may call, and may read the responses. */
const harness = await startHarness({ publicUrl: 'https://keys.example.com' })
const { ask, app } = harness
const vendor = await makeVendor(harness)
const page = 'https://app.example.com'
await setOrigins(harness, vendor, [page, 'http://localhost:3000', 'https://keys.example.com'])
const token = await mintToken(harness, vendor)

const from = (headers: Record<string, string>, by = token, path = '/v1/embed/session') =>
  ask('GET', path, { token: by, headers })
/** The headers that a browser evaluates. */
const corsOf = ({ headers }: { headers: Record<string, string | undefined> }) => ({
  origin: headers['access-control-allow-origin'],
  credentials: headers['access-control-allow-credentials'],
  vary: headers.vary,
  caching: headers['cache-control'],
})
const open = (origin: string) => ({ origin, credentials: undefined, vary: 'Origin', caching: 'no-store' })
const shut = { origin: undefined, credentials: undefined, vary: 'Origin', caching: 'no-store' }

test('a page of a registered origin can call and read, whatever the case of the origin', async () => {
  for (const origin of [
    page,
    'http://localhost:3000',
    'HTTPS://APP.EXAMPLE.COM',
    'https://app.example.com:443',
  ]) {
    const heard = await from({ origin })
    assert.equal(heard.status, 200, origin)
    assert.deepEqual(corsOf(heard), open(origin))
    assert.equal(heard.headers['access-control-expose-headers'], 'date, etag, x-request-id, retry-after')
  }
})

test('any other page can neither call nor read', async () => {
  for (const origin of [
    'https://evil.example.com',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://app.example.com.evil.com',
    'https://evil.com/https://app.example.com',
    'https://app.example.com/',
    'http://localhost:3001',
    'http://127.0.0.1:3000',
    'null',
    '',
    '*',
    'https://*.example.com',
    `${page}, ${page}`,
  ]) {
    const heard = await from({ origin })
    assert.deepEqual([heard.status, heard.body.code], [403, 'origin_not_allowed'], origin)
    assert.deepEqual(corsOf(heard), shut, origin)
  }
})

test('two Origin headers are refused', async () => {
  const response = await app.inject({
    method: 'GET',
    url: '/v1/embed/session',
    headers: { authorization: `Bearer ${token}`, origin: [page, page] as unknown as string },
  })
  assert.equal(response.statusCode, 403)
})

test('without an Origin, servers can call, and pages of the service if registered', async () => {
  assert.equal((await from({})).status, 200)
  assert.equal((await from({ 'sec-fetch-mode': 'cors' })).status, 200)
  const own = await from({ 'sec-fetch-site': 'same-origin' })
  assert.deepEqual([own.status, corsOf(own)], [200, shut])
  for (const site of ['cross-site', 'same-site', 'none', '', 'same-origin, cross-site']) {
    assert.equal((await from({ 'sec-fetch-site': site })).body.code, 'origin_not_allowed', site)
  }
  const other = await makeVendor(harness)
  const theirs = await mintToken(harness, other)
  assert.equal((await from({}, theirs)).status, 200)
  assert.equal((await from({ 'sec-fetch-site': 'same-origin' }, theirs)).body.code, 'origin_not_allowed')
})

test('a workspace without origins allows no page', async () => {
  const theirs = await mintToken(harness, await makeVendor(harness))
  assert.equal((await from({ origin: page }, theirs)).body.code, 'origin_not_allowed')
})

test('only a page that may call can read a refusal', async () => {
  const expired = await signToken(harness, vendor, { expiresAt: Math.floor(Date.now() / 1_000) - 1 })
  const cases: [what: string, by: string, method: string, path: string, status: number][] = [
    ['expired', expired, 'GET', '/v1/embed/session', 401],
    ['of another epoch', await signToken(harness, vendor, { epoch: 9 }), 'GET', '/v1/embed/session', 401],
    [
      'without a tenant',
      await signToken(harness, vendor, { tenantId: vendor.projectId }),
      'GET',
      '/v1/embed/session',
      401,
    ],
    ['a scope short', await mintToken(harness, vendor, { scopes: [] }), 'GET', '/v1/embed/keys', 403],
    ['malformed', token, 'GET', '/v1/embed/keys?limit=0', 400],
    ['not there', token, 'POST', `/v1/embed/keys/${vendor.tenantId}/revoke`, 404],
  ]
  for (const [what, by, method, path, status] of cases) {
    const heard = await ask(method, path, { token: by, headers: { origin: page } })
    assert.deepEqual([what, heard.status, corsOf(heard)], [what, status, open(page)])
    const foreign = await ask(method, path, { token: by, headers: { origin: 'https://evil.example.com' } })
    assert.deepEqual([what, corsOf(foreign)], [what, shut])
  }
})

test('without a valid token no page can read the refusal', async () => {
  for (const by of ['', 'x', `${token.slice(0, -4)}AAAA`, vendor.live]) {
    const heard = await from({ origin: page }, by)
    assert.ok(heard.status === 401 || heard.body.code === 'credential_not_accepted')
    assert.deepEqual(corsOf(heard), shut)
  }
})

test('a token with origins works only for pages of these origins', async () => {
  const narrow = await mintToken(harness, vendor, { origins: [page] })
  assert.equal((await from({ origin: page }, narrow)).status, 200)
  const heard = await from({ origin: 'http://localhost:3000' }, narrow)
  assert.deepEqual([heard.status, corsOf(heard)], [403, shut])
  const nowhere = await mintToken(harness, vendor, { origins: [] })
  assert.equal((await from({ origin: page }, nowhere)).status, 403)
  assert.equal((await from({}, nowhere)).status, 200)
})

const embedPaths = [...new Set(routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path))]

test('a preflight from any valid origin allows exactly the methods and headers of the route', async () => {
  for (const path of embedPaths) {
    for (const origin of ['https://anywhere.example', 'http://localhost:5173']) {
      const { statusCode, headers, body } = await app.inject({
        method: 'OPTIONS',
        url: path.replace(':id', vendor.tenantId),
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
      assert.deepEqual([statusCode, body], [204, ''], path)
      const cors = Object.fromEntries(
        Object.entries(headers).filter(([name]) => /^access-control|^vary/.test(name)),
      )
      assert.deepEqual(cors, {
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, PATCH',
        'access-control-allow-headers': 'authorization, content-type, if-none-match, keyrail-workspace',
        'access-control-max-age': '7200',
      })
    }
  }
})

test('a preflight with an invalid origin allows nothing', async () => {
  for (const origin of ['null', '', '*', 'file://', 'https://a/b', 'javascript:alert(1)', undefined]) {
    const { statusCode, headers } = await app.inject({
      method: 'OPTIONS',
      url: '/v1/embed/keys',
      headers: { ...(origin !== undefined && { origin }), 'access-control-request-method': 'GET' },
    })
    assert.equal(statusCode, 204)
    for (const name of Object.keys(headers))
      assert.ok(!name.startsWith('access-control'), `${origin}: ${name}`)
  }
})

test('routes outside of /v1/embed send no CORS headers', async () => {
  for (const path of ['/v1/keys', '/v1/embed_tokens', '/v1/auth/sessions', '/healthz', '/v1/embed/nothing']) {
    for (const method of ['OPTIONS', 'GET', 'POST'] as const) {
      const { headers } = await app.inject({
        method,
        url: path,
        headers: {
          origin: page,
          'access-control-request-method': 'GET',
          authorization: `Bearer ${vendor.live}`,
        },
      })
      for (const name of Object.keys(headers))
        assert.ok(!name.startsWith('access-control'), `${method} ${path}`)
    }
  }
})
