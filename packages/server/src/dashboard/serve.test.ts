import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { mailedPages } from '@keyrail/contract/mailed-pages'
import { index, makeBuild, script } from '../../test/dashboard-folder.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { openWire } from '../../test/wire.ts'
import { routes } from '../routes.ts'

const folder = makeBuild()
writeFileSync(join(dirname(folder), 'outside-of-the-build.txt'), 'not served')
const harness = await startHarness({ passwordMinLength: 17 }, null, undefined, { dashboard: { folder } })
const { app, logged } = harness
const wire = await openWire(harness)
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
const mailed = Object.values(mailedPages)
const pages = [
  '/app',
  '/app/',
  '/app/keys',
  '/app/keys/01930c3e?env=live',
  '/app/a/b.c',
  '/app/index.html',
  ...mailed,
]
const scriptAt = '/app/assets/index-A1b2.js'
const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('every address of the dashboard opens its page, which no cache keeps', async () => {
  for (const url of pages) {
    const { statusCode, headers, body } = await get(url)
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.deepEqual([headers['cache-control'], headers.etag], ['no-store', undefined])
    const filled = index
      .replace('__PASSWORD_MIN_LENGTH__', '17')
      .replace('__SIGN_UP__', 'first')
      .replace('__MAIL__', 'folder')
    assert.equal(body.replace(/(?<=content="|nonce=")[\w+/=]{24}(?=")/g, '__CSP_NONCE__'), filled)
  }
})

test('the page says who may create an account, and that there is none yet', async () => {
  const told = async (own: typeof harness) =>
    /name="sign-up" content="(\w+)"/.exec((await own.app.inject({ url: '/app' })).body)?.[1]
  assert.equal(await told(harness), 'first')
  await makePerson(harness.query)
  assert.equal(await told(harness), 'open')
  for (const signUp of ['invited', 'closed'] as const)
    assert.equal(
      await told(await startHarness({ signUp }, null, undefined, { dashboard: { folder } })),
      signUp,
    )
})

test('each answer has a fresh nonce, the same in the page and in its policy', async () => {
  const nonces = new Set<string>()
  for (let i = 0; i < 5; i++) {
    const { headers, body } = await get('/app')
    const found = [...body.matchAll(/(?:content|nonce)="([^"]{24})"/g)].map(([, nonce = '']) => nonce)
    assert.equal(new Set(found).size, 1)
    const [nonce = ''] = found
    nonces.add(nonce)
    assert.equal(
      headers['content-security-policy'],
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
  }
  assert.equal(nonces.size, 5)
})

test('page and files have every security header and set no cookie', async () => {
  for (const url of [...pages, scriptAt, '/app/assets/index-C3d4.css', '/app/icon.svg']) {
    const { headers } = await get(url)
    assert.match(String(headers['content-security-policy']), /^default-src 'none';.* frame-ancestors 'none'$/)
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|data:|blob:|\*|https?:/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.equal(headers['set-cookie'], undefined)
  }
})

test('a hashed file is kept for a year, and another file is revalidated', async () => {
  for (const [url, type, caching] of [
    [scriptAt, 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/app/assets/index-C3d4.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/app/icon.svg', 'image/svg+xml', 'no-cache'],
  ] as const) {
    const { statusCode, headers } = await get(url)
    assert.deepEqual(
      [statusCode, headers['content-type'], headers['cache-control'], headers.vary],
      [200, type, caching, 'Accept-Encoding'],
    )
    const again = await get(url, { 'if-none-match': String(headers.etag) })
    assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', headers.etag])
    assert.equal((await get(url, { 'if-none-match': 'W/"other"' })).statusCode, 200)
  }
})

test('a file is sent in an accepted encoding, and HEAD describes it', async () => {
  for (const [accepted, encoding, open] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
  ] as const) {
    const headers = { 'accept-encoding': accepted }
    const answer = await get(scriptAt, headers)
    assert.equal(answer.headers['content-encoding'], encoding)
    assert.equal(open(answer.rawPayload).toString(), script)
    const head = await app.inject({ method: 'HEAD', url: scriptAt, headers })
    assert.deepEqual([head.statusCode, head.body], [200, ''])
    for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'cache-control'])
      assert.equal(head.headers[name], answer.headers[name], name)
  }
  const head = await app.inject({ method: 'HEAD', url: '/app/keys' })
  assert.deepEqual([head.statusCode, head.body], [200, ''])
})

test('an unknown asset, a file outside of the build and another method are refused', async () => {
  for (const url of [
    '/app/assets/',
    '/app/assets/index-Z9z9.js',
    '/app/assets/../index.html',
    '/app/assets/..%2findex.html',
    '/app/assets/..%2f..%2foutside-of-the-build.txt',
    '/app/assets/%2e%2e/%2e%2e/outside-of-the-build.txt',
    '/app/assets/..%5c..%5coutside-of-the-build.txt',
    '/app/assets/%2fetc%2fpasswd',
    '/app/assets/index-A1b2.js%00',
    '/app/../../outside-of-the-build.txt',
    '/app/..%2foutside-of-the-build.txt',
    '/app/%2e%2e%2foutside-of-the-build.txt',
    '/app/..%5coutside-of-the-build.txt',
    '/app/x/..',
    '/apps',
    '/app.html',
    '/verify-email/',
    '/verify-email.html',
    '/pages/verify-email.html',
  ]) {
    // As bytes, because clients resolve the dots before they send a path.
    const [answer] = await wire.send(`GET ${url} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n`)
    assert.equal(answer?.status, 404, url)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.body.code, 'route_not_found')
  }
  assert.equal((await get('/app/%zz')).statusCode, 400)
  assert.doesNotMatch((await get('/app/built.json')).body, /of the test/, 'the stamp is not served')
  for (const url of ['/', '/app', '/app/keys', scriptAt, ...mailed]) {
    const posted = await app.inject({ method: 'POST', url })
    assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD'], url)
  }
})

test('the root leads a browser to the dashboard, and is 404 for every other caller', async () => {
  const browser = await get('/', { accept: html })
  assert.deepEqual(
    [browser.statusCode, browser.headers.location, browser.headers.vary],
    [302, '/app', 'Accept'],
  )
  for (const headers of [
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { accept: 'text/html;q=0' },
  ]) {
    const { statusCode, body } = await get('/', headers)
    assert.equal(statusCode, 404)
    assert.match(body, /route_not_found/)
  }
})

test('a request is logged and counted by its route, without the address of the page', async () => {
  const from = logged.length
  await get('/app/keys/a-key-of-a-tenant')
  await get(scriptAt)
  await get('/verify-email?utm_source=a-newsletter')
  const lines = logged.slice(from).map(line => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ msg, route, status }) => [msg, route, status]),
    [
      ['request', '/app/*', 200],
      ['request', '/app/assets/*', 200],
      ['request', '/verify-email', 200],
    ],
  )
  assert.doesNotMatch(logged.slice(from).join(''), /a-key-of-a-tenant|a-newsletter/)
})

const without = await startHarness({ dashboard: 'off' }, null, undefined, { dashboard: { folder } })

test('SERVICE_DASHBOARD=off answers 404 everywhere, also to a browser', async () => {
  for (const url of ['/', ...pages.filter(page => page.startsWith('/app')), scriptAt]) {
    const { statusCode, body } = await without.app.inject({ url, headers: { accept: html } })
    assert.equal(statusCode, 404, url)
    assert.match(body, /route_not_found/)
  }
  assert.equal((await without.app.inject({ method: 'POST', url: '/app' })).statusCode, 404)
})

test('with SERVICE_DASHBOARD=off, a mailed link shows a browser what to do, also 404', async () => {
  for (const url of mailed) {
    const { statusCode, headers, body } = await without.app.inject({ url, headers: { accept: html } })
    assert.deepEqual(
      [statusCode, headers['content-type'], headers.vary, headers['cache-control']],
      [404, 'text/html; charset=utf-8', 'Accept', 'no-store'],
    )
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|script-src|https?:/)
    assert.match(body, /<h1>This link cannot be opened here<\/h1>/)
    const named = [...body.matchAll(/(POST) (\/v1\/\S+)/g)]
    assert.ok(named.length > 0, url)
    for (const [, method, path] of named)
      assert.ok(
        routes.some(route => route.method === method && route.path === path),
        path,
      )
    for (const accept of ['*/*', 'application/json']) {
      const other = await without.app.inject({ url, headers: { accept } })
      assert.deepEqual([other.statusCode, other.json().code], [404, 'route_not_found'])
    }
    assert.equal((await without.app.inject({ method: 'POST', url })).statusCode, 405)
  }
  const consumed = await without.ask('POST', '/v1/auth/email_verifications/consume', {
    body: { token: `${randomUUID()}.${'a'.repeat(43)}` },
  })
  assert.deepEqual([consumed.status, consumed.body.code], [400, 'invalid_token'])
})
