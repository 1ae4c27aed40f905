import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken, setOrigins, signToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { routes } from '../routes.ts'

/** Which pages may call, and which may read what they are answered. */
const harness = await startHarness({ publicUrl: 'https://keys.example.com' })
const { ask, app } = harness
const vendor = await makeVendor(harness)
const page = 'https://app.example.com'
await setOrigins(harness, vendor, [page, 'http://localhost:3000', 'https://keys.example.com'])
const token = await mintToken(harness, vendor)

const from = (headers: Record<string, string>, by = token, path = '/v1/embed/session') =>
  ask('GET', path, { token: by, headers })
/** What a browser judges by. */
const toldOf = ({ headers }: { headers: Record<string, string | undefined> }) => ({
  origin: headers['access-control-allow-origin'],
  credentials: headers['access-control-allow-credentials'],
  vary: headers.vary,
  caching: headers['cache-control'],
})
const open = (origin: string) => ({ origin, credentials: undefined, vary: 'Origin', caching: 'no-store' })
const shut = { origin: undefined, credentials: undefined, vary: 'Origin', caching: 'no-store' }

test('a page of a registered origin may call and read, in whatever case the origin was registered', async () => {
  for (const origin of [
    page,
    'http://localhost:3000',
    'HTTPS://APP.EXAMPLE.COM',
    'https://app.example.com:443',
  ]) {
    const heard = await from({ origin })
    assert.equal(heard.status, 200, origin)
    assert.deepEqual(toldOf(heard), open(origin))
    assert.equal(heard.headers['access-control-expose-headers'], 'x-request-id, retry-after')
  }
})

test('any other page may neither call nor read', async () => {
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
    assert.deepEqual(toldOf(heard), shut, origin)
  }
})

test('two Origin headers are none that is allowed', async () => {
  const response = await app.inject({
    method: 'GET',
    url: '/v1/embed/session',
    headers: { authorization: `Bearer ${token}`, origin: [page, page] as unknown as string },
  })
  assert.equal(response.statusCode, 403)
})

test('without an Origin, a server may call, and so may a page of the service itself if that is registered', async () => {
  assert.equal((await from({})).status, 200)
  assert.equal((await from({ 'sec-fetch-mode': 'cors' })).status, 200)
  const own = await from({ 'sec-fetch-site': 'same-origin' })
  assert.deepEqual([own.status, toldOf(own)], [200, shut])
  for (const site of ['cross-site', 'same-site', 'none', '', 'same-origin, cross-site']) {
    assert.equal((await from({ 'sec-fetch-site': site })).body.code, 'origin_not_allowed', site)
  }
  const other = await makeVendor(harness)
  const theirs = await mintToken(harness, other)
  assert.equal((await from({}, theirs)).status, 200)
  assert.equal((await from({ 'sec-fetch-site': 'same-origin' }, theirs)).body.code, 'origin_not_allowed')
})

test('a workspace without origins lets no page call', async () => {
  const theirs = await mintToken(harness, await makeVendor(harness))
  assert.equal((await from({ origin: page }, theirs)).body.code, 'origin_not_allowed')
})

test('a refusal can be read by the page that may call, and by no other', async () => {
  const expired = await signToken(harness, vendor, { expiresAt: Math.floor(Date.now() / 1_000) - 1 })
  const cases: [what: string, by: string, method: string, path: string, status: number][] = [
    ['expired', expired, 'GET', '/v1/embed/session', 401],
    ['of another epoch', await signToken(harness, vendor, { epoch: 9 }), 'GET', '/v1/embed/session', 401],
    [
      'of no tenant',
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
    assert.deepEqual([what, heard.status, toldOf(heard)], [what, status, open(page)])
    const foreign = await ask(method, path, { token: by, headers: { origin: 'https://evil.example.com' } })
    assert.deepEqual([what, toldOf(foreign)], [what, shut])
  }
})

test('whose page may read cannot be told without a token of ours, so then none is', async () => {
  for (const by of ['', 'x', `${token.slice(0, -4)}AAAA`, vendor.live]) {
    const heard = await from({ origin: page }, by)
    assert.ok(heard.status === 401 || heard.body.code === 'credential_not_accepted')
    assert.deepEqual(toldOf(heard), shut)
  }
})

test('a narrowed token is read by the pages that it is for, and by no other that is registered', async () => {
  const narrow = await mintToken(harness, vendor, { origins: [page] })
  assert.equal((await from({ origin: page }, narrow)).status, 200)
  const heard = await from({ origin: 'http://localhost:3000' }, narrow)
  assert.deepEqual([heard.status, toldOf(heard)], [403, shut])
  const nowhere = await mintToken(harness, vendor, { origins: [] })
  assert.equal((await from({ origin: page }, nowhere)).status, 403)
  assert.equal((await from({}, nowhere)).status, 200)
})

const embedPaths = [...new Set(routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path))]

test('a preflight of any origin that could be registered is answered, with nothing but what the plane takes', async () => {
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
      const told = Object.fromEntries(
        Object.entries(headers).filter(([name]) => /^access-control|^vary/.test(name)),
      )
      assert.deepEqual(told, {
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '600',
      })
    }
  }
})

test('a preflight of what is no origin is allowed nothing', async () => {
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

test('no other plane tells a page anything', async () => {
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
