import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startHarness } from '../../server/test/harness.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { createKeyring, type Keyring } from '../src/keyring/keyring.ts'
import type { KeyringOptions } from '../src/keyring/options.ts'
import { drawKey } from './keys.ts'
import { until } from './until.ts'

/** The keyring with the real service on a real socket. */

const keyrings: Keyring[] = []
// Closed before the service, which waits for open connections.
after(() => Promise.all(keyrings.map(keyring => keyring.close())))
const service = await startHarness({ policyMaxPageKeys: 3 })
const vendor = await makeVendor(service)
await service.app.listen({ port: 0, host: '127.0.0.1' })
const url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`

async function start(options: Partial<KeyringOptions> = {}): Promise<Keyring> {
  const keyring = createKeyring({ url, secretKey: vendor.live, project: vendor.projectId, ...options })
  keyrings.push(keyring)
  await keyring.ready()
  return keyring
}

const post = (path: string, body: unknown = {}) => service.ask('POST', path, { token: vendor.live, body })

test('a key issued over the API is verified in memory, across pages, and a foreign one is not', async () => {
  const keys = []
  for (let number = 0; number < 8; number++)
    keys.push(await issueKey(service, vendor, { scopes: ['orders:read'] }))
  const keyring = await start()
  for (const { id, key } of keys) {
    const verdict = keyring.verify(key, { scopes: ['orders:read'] })
    assert.deepEqual(verdict.valid && [verdict.keyId, verdict.tenantId, verdict.env], [
      id,
      vendor.tenantId,
      'live',
    ])
  }
  assert.equal(keyring.verify(drawKey()).code, 'unknown_key')
  assert.equal(keyring.verify(keys[0]?.key, { scopes: ['orders:write'] }).code, 'insufficient_scope')
})

test('after revoke with wait=true has answered, every node of the fleet refuses the key', async () => {
  // In its own project, because nodes of other tests count as live for a while.
  const own = await makeVendor(service)
  const { id, key } = await issueKey(service, own)
  const options = { secretKey: own.live, project: own.projectId, pollIntervalMs: 200 }
  const fleet = await Promise.all([start(options), start(options), start(options)])
  for (const keyring of fleet) assert.equal(keyring.verify(key).code, 'valid')
  const { body } = await service.ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: own.live, body: {} })
  for (const keyring of fleet) assert.equal(keyring.verify(key).code, 'revoked_key')
  assert.equal((await start(options)).verify(key).code, 'unknown_key')
  assert.deepEqual([body.propagation.acknowledged, body.propagation.nodes], [true, 3])
})

test('a change of a key, of its tenant and of the default limits reaches the node', async () => {
  const tenant = (await post('/v1/tenants', { external_id: 'leaving' })).body
  const staying = await issueKey(service, vendor)
  const leaving = await issueKey(service, vendor, { tenant_id: tenant.id })
  const keyring = await start({ pollIntervalMs: 200 })
  const patch = (path: string, body: unknown) => service.ask('PATCH', path, { token: vendor.live, body })
  await patch(`/v1/keys/${staying.id}`, { scopes: ['admin'] })
  await until(() => keyring.verify(staying.key, { scopes: ['admin'] }).valid, 'the new scope is known')
  await service.ask('DELETE', `/v1/tenants/${tenant.id}`, { token: vendor.live })
  await until(() => keyring.verify(leaving.key).code === 'revoked_key', "the tenant's key is refused")
  const rules = [{ id: 'burst', limit: 5, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }]
  await patch(`/v1/projects/${vendor.projectId}`, { default_rate_limits: rules })
  await until(() => {
    const verdict = keyring.verify(staying.key)
    return verdict.valid && verdict.rateLimits?.[0]?.limit === 5
  }, 'the new default is known')
  assert.ok(keyring.stats().polls.snapshot >= 2)
})

test('a live keyring refuses test keys, and a test secret key sees nothing else', async () => {
  const testing = await issueKey(service, vendor, { env: 'test' })
  const live = await issueKey(service, vendor)
  const [production, sandbox, both] = [
    await start(),
    await start({ secretKey: vendor.test }),
    await start({ env: 'both' }),
  ]
  assert.deepEqual(
    [production.verify(live.key).code, production.verify(testing.key).code],
    ['valid', 'wrong_env'],
  )
  assert.deepEqual([sandbox.verify(live.key).code, sandbox.verify(testing.key).code], ['wrong_env', 'valid'])
  assert.deepEqual([both.verify(live.key).code, both.verify(testing.key).code], ['valid', 'valid'])
})

test('a wrong secret and a missing project reject ready with the service’s error', async () => {
  await assert.rejects(start({ secretKey: drawKey('krsk_live') }), {
    code: 'unauthenticated',
    status: 401,
    docUrl: `${service.deps.config.publicUrl}/errors/unauthenticated`,
  })
  await assert.rejects(start({ project: vendor.tenantId }), { code: 'not_found', status: 404 })
})

test('deleting a project ends all its keys on the node', async () => {
  const { key } = await issueKey(service, vendor)
  const keyring = await start({ pollIntervalMs: 200 })
  await service.ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  await until(() => keyring.verify(key).code === 'revoked_key', 'the key is refused')
})
