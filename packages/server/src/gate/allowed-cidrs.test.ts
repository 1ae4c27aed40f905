import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Harness, startHarness } from '../../test/harness.ts'
import { sampleOf } from '../../test/samples.ts'
import { makeVendor, type Vendor } from '../../test/vendor.ts'
import { readStoredNetworks } from '../platform/network/cidr.ts'
import { routes } from '../routes.ts'

/** A secret key that is bound to networks works only from there. */
const harness = await startHarness()
const vendor = await makeVendor(harness)

async function makeKey({ ask }: Harness, { live }: Vendor, allowed_cidrs: string[], more: object = {}) {
  const body = { env: 'live', allowed_cidrs, ...more }
  const made = await ask('POST', '/v1/secret_keys', { token: live, body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body as { id: string; key: string }
}

/** Sends a request from an address, without a socket. */
async function askFrom(address: string, token: string, url = '/v1/workspace', headers: object = {}) {
  const response = await harness.app.inject({
    url,
    remoteAddress: address,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  return { status: response.statusCode, body: response.json() }
}

const from: [allowed: string[], address: string, isIn: boolean][] = [
  [['203.0.113.0/24'], '203.0.113.0', true],
  [['203.0.113.0/24'], '203.0.113.255', true],
  [['203.0.113.0/24'], '203.0.114.0', false],
  [['203.0.113.0/24'], '::ffff:203.0.113.9', true],
  [['203.0.113.0/24'], '::ffff:203.0.114.9', false],
  [['::ffff:203.0.113.0/120'], '203.0.113.9', true],
  [['203.0.113.7'], '203.0.113.7', true],
  [['203.0.113.7'], '203.0.113.8', false],
  [['2001:db8::/32'], '2001:db8:ffff::1', true],
  [['2001:db8::/32'], '2001:db9::', false],
  [['2001:db8::/32', '10.0.0.0/8'], '10.1.2.3', true],
  [['::/0'], '10.1.2.3', false],
  [['0.0.0.0/0'], '2001:db8::1', false],
  [['0.0.0.0/0', '::/0'], 'no address', false],
]
for (const [allowed, address, isIn] of from) {
  test(`a key for ${allowed} ${isIn ? 'works' : 'does not work'} from ${address}`, async () => {
    const { key } = await makeKey(harness, vendor, allowed)
    const { status, body } = await askFrom(address, key)
    assert.deepEqual([status, body.code], isIn ? [200, undefined] : [403, 'ip_not_allowed'])
  })
}

test('every route refuses the key from another network and does nothing', async () => {
  const { key } = await makeKey(harness, vendor, ['203.0.113.7'])
  const stillThere = () => harness.query('select count(*) from audit_logs')
  for (const route of routes.filter(({ access }) => !access.open)) {
    const { url, body } = await sampleOf(route, harness, vendor)
    const before = await stillThere()
    const heard = await harness.ask(route.method, url, {
      token: key,
      ...(route.method !== 'GET' && { body: body ?? {} }),
    })
    assert.deepEqual([heard.status, heard.body.code], [403, 'ip_not_allowed'], `${route.method} ${url}`)
    assert.deepEqual(await stillThere(), before)
  }
})

test('a revoked key gets the same 401 from every network', async () => {
  const { id, key } = await makeKey(harness, vendor, ['203.0.113.7'])
  await harness.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: vendor.live })
  assert.equal((await askFrom('203.0.113.7', key)).body.code, 'unauthenticated')
  assert.equal((await askFrom('203.0.113.8', key)).body.code, 'unauthenticated')
})

test('a refused request from another network does not count as a use of the key', async () => {
  const { id, key } = await makeKey(harness, vendor, ['203.0.113.7'])
  await askFrom('203.0.113.8', key)
  const { body } = await harness.ask('GET', `/v1/secret_keys/${id}`, { token: vendor.live })
  assert.equal(body.last_used_at, null)
})

test('a cached key is still checked against the address of each request', async () => {
  const { key } = await makeKey(harness, vendor, ['203.0.113.7'], { preset: 'node' })
  const check = (remoteAddress: string) =>
    harness.app
      .inject({
        method: 'POST',
        url: '/v1/ratelimit/check',
        remoteAddress,
        headers: { authorization: `Bearer ${key}` },
        payload: {
          project_id: vendor.projectId,
          env: 'live',
          key_id: vendor.projectId,
          limits: [{ id: 'a', limit: 1_000, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
        },
      })
      .then(({ statusCode }) => statusCode)
  for (let round = 0; round < 3; round += 1) {
    assert.deepEqual(
      await Promise.all([check('203.0.113.7'), check('203.0.113.8'), check('::ffff:203.0.113.7')]),
      [200, 403, 200],
    )
  }
})

test('without trusted proxies, no header changes the client address', async () => {
  const { key } = await makeKey(harness, vendor, ['203.0.113.7'])
  for (const headers of [
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-real-ip': '203.0.113.7' },
    { forwarded: 'for=203.0.113.7' },
  ]) {
    assert.equal((await askFrom('203.0.113.8', key, '/v1/workspace', headers)).status, 403)
  }
})

test('exactly the trusted number of proxies is skipped, and no header of a client', async () => {
  const proxied = await startHarness({ trustProxy: 2 })
  const own = await makeVendor(proxied)
  const { key } = await makeKey(proxied, own, ['203.0.113.7'])
  const url = `${await proxied.app.listen({ host: '127.0.0.1', port: 0 })}/v1/workspace`
  const asked = async (forwarded?: string) => {
    const headers = { authorization: `Bearer ${key}`, ...(forwarded && { 'x-forwarded-for': forwarded }) }
    const response = await fetch(url, { headers })
    await response.body?.cancel()
    return response.status
  }
  // The first proxy adds the address of its client, the second adds the first proxy.
  assert.equal(await asked('203.0.113.7, 10.0.0.1'), 200)
  assert.equal(await asked('203.0.113.8, 10.0.0.1'), 403)
  assert.equal(await asked('203.0.113.7, 203.0.113.8, 10.0.0.1'), 403, 'a header of the client comes first')
  assert.equal(await asked('203.0.113.8, 203.0.113.7, 10.0.0.1'), 200)
  assert.equal(await asked('203.0.113.7:51234, 10.0.0.1:443'), 200, 'as balancers write it')
  assert.equal(await asked('203.0.113.8:51234, 10.0.0.1:443'), 403)
  assert.equal(await asked('[::ffff:203.0.113.7]:51234, 10.0.0.1'), 200)
  assert.equal(await asked('203.0.113.7, unknown, 10.0.0.1'), 403, 'an invalid address ends the list')
  assert.equal(await asked(), 403, 'without the proxies')
})

test('with trusted networks, no header of anybody else opens a key that is limited to networks', async () => {
  const proxied = await startHarness({ trustProxy: readStoredNetworks(['10.42.7.0/24', '2001:db8:7::/64']) })
  const { key } = await makeKey(proxied, await makeVendor(proxied), ['203.0.113.7'])
  const asked = async (remoteAddress: string, forwarded?: string) => {
    const headers = { authorization: `Bearer ${key}`, ...(forwarded && { 'x-forwarded-for': forwarded }) }
    return (await proxied.app.inject({ url: '/v1/workspace', remoteAddress, headers })).statusCode
  }
  assert.equal(await asked('10.42.7.2', '203.0.113.7'), 200)
  assert.equal(await asked('::ffff:10.42.7.2', '203.0.113.7, 2001:db8:7::9'), 200, 'two proxies')
  assert.equal(await asked('203.0.113.7', '203.0.113.8'), 200, 'the caller itself, past the proxies')
  assert.equal(await asked('10.42.8.2', '203.0.113.7'), 403, 'a neighbour of the proxies')
  assert.equal(await asked('10.42.8.2', '203.0.113.7, 10.42.7.2'), 403)
  assert.equal(
    await asked('10.42.7.2', '203.0.113.7, 203.0.113.8'),
    403,
    'a header of the client comes first',
  )
  assert.equal(await asked('10.42.7.2', '203.0.113.7, unknown, 10.42.7.3'), 403)
  assert.equal(await asked('10.42.7.2'), 403, 'the proxy itself')
})
