import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../../test/browser.ts'
import { mintToken, setOrigins, signToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

/** Pages of a vendor in a real browser, which decides what a page may read. */
const browser = await launchBrowser()
after(() => browser.close())
const harness = await startHarness()
const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })
const vendor = await makeVendor(harness)

/** A site with one empty page, under two host names. */
async function openSite(): Promise<{ registered: string; other: string }> {
  const server = createServer((_request, response) => {
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .end('<!doctype html><title>A vendor</title>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { registered: `http://localhost:${port}`, other: `http://127.0.0.1:${port}` }
}
const { registered, other } = await openSite()
await setOrigins(harness, vendor, [registered])

interface Call {
  path: string
  token: string
  method?: string
  body?: unknown
  headers?: Record<string, string>
}
// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape, checked by the test that asked for it.
type Heard = { status: number; requestId: string | null; body: any } | { failed: string }

/** The response as a script of the page sees it: nothing when the browser withholds it. */
async function callFrom(page: Page, call: Call): Promise<Heard> {
  return await page.evaluate(
    async ({ url, path, token, method = 'GET', body, headers }) => {
      try {
        const answer = await fetch(url + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        return {
          status: answer.status,
          requestId: answer.headers.get('x-request-id'),
          body: await answer.json(),
        }
      } catch (error) {
        return { failed: String(error) }
      }
    },
    { url, ...call },
  )
}

async function pageOf(origin: string): Promise<Page> {
  const context = await browser.newContext()
  after(() => context.close())
  const page = await context.newPage()
  await page.goto(origin)
  return page
}

const failed = { failed: 'TypeError: Failed to fetch' }

test('a page of a registered origin can create, list, change, rotate and revoke keys', async () => {
  const token = await mintToken(harness, vendor)
  const page = await pageOf(registered)
  const ask = async (path: string, method = 'GET', body?: unknown) => {
    const heard = await callFrom(page, { path, token, method, body })
    assert.ok('status' in heard, JSON.stringify(heard))
    assert.match(heard.requestId ?? '', /^req_/)
    return heard
  }
  assert.equal((await ask('/v1/embed/session')).body.tenant.id, vendor.tenantId)
  const made = await ask('/v1/embed/keys', 'POST', { name: 'From a page', scopes: ['refunds'] })
  assert.equal(made.status, 201)
  const renamed = await ask(`/v1/embed/keys/${made.body.id}`, 'PATCH', { name: 'Renamed' })
  assert.deepEqual([renamed.status, renamed.body.name], [200, 'Renamed'])
  const rotated = await ask(`/v1/embed/keys/${made.body.id}/rotate`, 'POST', {})
  assert.equal(rotated.status, 200)
  assert.equal((await ask(`/v1/embed/keys/${made.body.id}/revoke`, 'POST', { reason: 'lost' })).status, 200)
  const listed = await ask('/v1/embed/keys')
  assert.deepEqual(
    listed.body.data.map((key: { id: string }) => key.id),
    [rotated.body.id],
  )
  assert.equal((await ask(`/v1/embed/keys/${made.body.id}/usage`)).body.total, 0)
})

test('a page of another origin reads and changes nothing with the same token', async () => {
  const token = await mintToken(harness, vendor)
  const page = await pageOf(other)
  const { id } = await issueKey(harness, vendor)
  const keys = () => harness.query('select id, name from api_keys order by id')
  const before = await keys()
  for (const call of [
    { path: '/v1/embed/session', token },
    { path: '/v1/embed/keys', token },
    { path: '/v1/embed/keys', token, method: 'POST', body: { name: 'stolen' } },
    { path: `/v1/embed/keys/${id}`, token, method: 'PATCH', body: { name: 'stolen' } },
  ])
    assert.deepEqual(await callFrom(page, call), failed)
  assert.deepEqual(await keys(), before)
})

test('a page with an opaque origin reads nothing', async () => {
  const token = await mintToken(harness, vendor)
  const page = await pageOf(registered)
  const script = `fetch('${url}/v1/embed/session', { headers: { authorization: 'Bearer ${token}' } })
    .then(answer => parent.postMessage('answered ' + answer.status, '*'))
    .catch(error => parent.postMessage(String(error), '*'))`
  const heard = await page.evaluate(`new Promise(resolve => {
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts')
    frame.srcdoc = '<script>' + ${JSON.stringify(script)} + '</' + 'script>'
    addEventListener('message', event => resolve(event.data), { once: true })
    document.body.append(frame)
  })`)
  assert.equal(heard, failed.failed)
})

test('an allowed page can read why it is refused', async () => {
  const page = await pageOf(registered)
  const expired = await signToken(harness, vendor, { expiresAt: 1 })
  const short = await mintToken(harness, vendor, { scopes: ['keys:read'] })
  const late = await callFrom(page, { path: '/v1/embed/keys', token: expired })
  assert.deepEqual('status' in late && [late.status, late.body.code], [401, 'unauthenticated'])
  const refused = await callFrom(page, { path: '/v1/embed/keys', token: short, method: 'POST', body: {} })
  assert.deepEqual('status' in refused && [refused.status, refused.body.code], [403, 'insufficient_scope'])
})

test('a page loses access with the next request once its origin is no longer registered', async () => {
  const token = await mintToken(harness, vendor)
  const page = await pageOf(registered)
  const call = { path: '/v1/embed/session', token }
  assert.ok('status' in (await callFrom(page, call)))
  await setOrigins(harness, vendor, [other])
  assert.deepEqual(await callFrom(page, call), failed)
  assert.ok('status' in (await callFrom(await pageOf(other), call)))
  await setOrigins(harness, vendor, [registered])
})

test('a page of a registered origin cannot create tokens or call other routes', async () => {
  const page = await pageOf(registered)
  const body = { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' }
  assert.deepEqual(
    await callFrom(page, { path: '/v1/embed_tokens', token: vendor.live, method: 'POST', body }),
    failed,
  )
  assert.deepEqual(await callFrom(page, { path: '/v1/keys', token: vendor.live }), failed)
})

test('every page can read the public keys', async () => {
  const page = await pageOf(other)
  const kids = await page.evaluate(async url => {
    const answer = await fetch(`${url}/.well-known/jwks.json`)
    return ((await answer.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  }, url)
  assert.equal(kids.length, 1)
})
