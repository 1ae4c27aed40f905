import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGuard } from '../packages/guard/test/stage.ts'
import { root } from '../packages/server/test/installation.ts'
import { type Caller, callAsEnvoy, callAsTraefik } from './guard-callers.ts'

const minute = { id: 'minute', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const
const routes = join(root, 'deploy/guard/routes.json')
const forged = {
  'x-keyrail-key': 'forged',
  'x-keyrail-tenant': 'forged',
  'x-keyrail-external-id': 'forged',
  'x-keyrail-scopes': 'forged',
  x_keyrail_tenant: 'forged',
  'x_keyrail-key': 'forged',
  'x-keyrail-external_id': 'forged',
  'x-forwarded-method': 'forged',
  'x-forwarded-uri': 'forged',
}
/** What a client says of its own address. */
const elsewhere = {
  'x-forwarded-for': '203.0.113.7',
  'x-original-ip': '203.0.113.7',
  'x-real-ip': '203.0.113.7',
}

const callers: readonly (readonly [string, Caller, Record<string, string>])[] = [
  ['Traefik', callAsTraefik, {}],
  [
    'Traefik with a table',
    callAsTraefik,
    { GUARD_ROUTES: routes, GUARD_METHOD_HEADER: 'X-Forwarded-Method', GUARD_URI_HEADER: 'X-Forwarded-Uri' },
  ],
  ['Envoy', callAsEnvoy, { GUARD_ROUTES: routes }],
]

for (const [name, call, env] of callers)
  test(`${name}: a key passes, refusals reach the client, and nothing that it forges counts`, async () => {
    const { keyrail, url } = await startGuard(env)
    const request = (key?: string, uri = '/orders/17?scope=none&cost=0') =>
      call(url, {
        method: 'GET',
        uri,
        headers: { ...forged, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      })
    const { key, keyId, tenantId } = keyrail.issue({ scopes: ['orders:read'], rateLimits: [minute] })
    const passed = await request(key)
    assert.ok('upstream' in passed)
    const { 'x-keyrail-key': of, 'x-keyrail-tenant': tenant, 'x-keyrail-scopes': scopes } = passed.upstream
    assert.deepEqual([of, tenant, scopes], [keyId, tenantId, 'orders:read'])
    const { 'x-forwarded-method': _, 'x-forwarded-uri': __, ...left } = passed.upstream
    assert.ok(!Object.values(left).includes('forged'), JSON.stringify(left))

    const refusedWith = async (status: number, code: string, given?: string) => {
      const outcome = await request(given)
      assert.ok('refused' in outcome, code)
      assert.deepEqual([outcome.refused.status, outcome.refused.body.code], [status, code])
      return outcome.refused.headers
    }
    assert.equal((await refusedWith(429, 'rate_limited', key))['retry-after'], '60')
    assert.equal((await refusedWith(401, 'missing_key'))['www-authenticate'], 'Bearer')
    await refusedWith(403, 'insufficient_scope', keyrail.issue().key)
    const revoked = keyrail.issue({ scopes: ['orders:read'] })
    keyrail.keys.revoke(revoked)
    await refusedWith(401, 'revoked_key', revoked.key)
    keyrail.lose()
    await refusedWith(503, 'stale', key)
  })

for (const [name, call, header] of [
  ['Traefik', callAsTraefik, 'X-Forwarded-For'],
  ['Envoy', callAsEnvoy, 'X-Original-Ip'],
] as const)
  test(`${name}: networks are judged by the address of the client, and not by one that it forges`, async () => {
    const { keyrail, url } = await startGuard({ GUARD_IP_HEADER: header })
    const { key } = keyrail.issue({ scopes: ['orders:read'], allowedCidrs: ['203.0.113.0/24'] })
    const headers = { ...elsewhere, authorization: `Bearer ${key}` }
    const ask = (address: string) => call(url, { method: 'GET', uri: '/orders', address, headers })
    assert.ok('upstream' in (await ask('203.0.113.9')))
    const outcome = await ask('198.51.100.1')
    assert.ok('refused' in outcome)
    assert.deepEqual([outcome.refused.status, outcome.refused.body.code], [403, 'ip_not_allowed'])
  })

test('Envoy: a public route passes without identity, and a route that no table names is refused', async () => {
  const { keyrail, url } = await startGuard({ GUARD_ROUTES: routes })
  const { key } = keyrail.issue()
  const open = await callAsEnvoy(url, { method: 'GET', uri: '/healthz', headers: forged })
  assert.ok('upstream' in open)
  assert.equal(open.upstream['x-keyrail-key'], '')
  const headers = { authorization: `Bearer ${key}` }
  for (const uri of ['/nowhere', '/healthz/../orders'])
    assert.ok('refused' in (await callAsEnvoy(url, { method: 'GET', uri, headers })), uri)
})
