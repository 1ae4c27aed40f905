import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'

const { app } = await startHarness({ passwordMinLength: 17 })
const pages = ['/verify-email', '/reset-password', '/accept-invite']
const files = readdirSync(new URL('browser/', import.meta.url))
const parts = files.filter(name => /\.(?:js|css|svg)$/.test(name)).map(name => `/pages/${name}`)

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

test('pages and all they are made of come under one strict policy, without a cookie', async () => {
  assert.equal(
    parts.length,
    files.length - pages.length - 1,
    'what is there is served, but for the types’ settings',
  )
  for (const url of [...pages, ...parts]) {
    const { statusCode, headers } = await app.inject({ url })
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-security-policy'], policy)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['set-cookie'], undefined)
    assert.ok(headers['content-type'])
  }
})

test('a page is kept by no cache, and a part is asked for anew and sent only when it has changed', async () => {
  for (const url of pages) assert.equal((await app.inject({ url })).headers['cache-control'], 'no-store')
  for (const url of parts) {
    const { headers } = await app.inject({ url })
    assert.equal(headers['cache-control'], 'no-cache')
    const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    assert.deepEqual([again.statusCode, again.body], [304, ''])
    assert.equal(again.headers['content-security-policy'], policy)
    const other = await app.inject({ url, headers: { 'if-none-match': '"other"' } })
    assert.equal(other.statusCode, 200)
  }
})

test('a page says how long a password must be here, and holds nothing that is not filled in', async () => {
  for (const url of pages) {
    const { body } = await app.inject({ url })
    assert.doesNotMatch(body, /\{\w+\}/)
    if (url !== '/verify-email') assert.match(body, /At least 17 characters/)
  }
})

test('a page names nothing of another host, has no script or style of its own, and works below a path', async () => {
  for (const url of pages) {
    const { body } = await app.inject({ url })
    for (const [, address = ''] of body.matchAll(/(?:src|href|action)="([^"]*)"/g))
      assert.match(address, /^[a-z]/, 'is relative')
    assert.doesNotMatch(body, /https?:|<style|\sstyle=|\son\w+=|<script>/)
  }
})

test('nothing else is served from there', async () => {
  for (const url of [
    '/pages',
    '/pages/',
    '/pages/tsconfig.json',
    '/pages/verify-email.html',
    '/pages/..%2fserve.ts',
    '/pages/%2e%2e/serve.ts',
    '/verify-email/',
  ]) {
    const { statusCode, body } = await app.inject({ url })
    assert.equal(statusCode, 404, url)
    assert.match(body, /route_not_found/)
  }
  const posted = await app.inject({ method: 'POST', url: '/verify-email' })
  assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD'])
})
