import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSecretKey } from '../../server/test/vendor.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import { createGate } from '../src/protect/request-gate.ts'
import { drawKey } from './keys.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** Nodes with an own check of old keys, on the real service. */

const { settings, service, vendor } = await startKeyrail()
const { key: importWith } = await makeSecretKey(service, vendor, {
  permissions: ['keys:import'],
  project_ids: [vendor.projectId],
})
const asks = (method: 'GET' | 'POST', path: string, body?: object) =>
  service.ask(method, path, { token: vendor.live, ...(body && { body }) })

/** A node that knows the old keys of customers. */
async function openNode(old: ReadonlyMap<string, string>, env: 'live' | 'test' | 'both' = 'live') {
  const seen = { asked: 0, errors: [] as string[] }
  const keyring = createKeyring({
    ...settings,
    env,
    importWith,
    onError: error => seen.errors.push(`${error.code}: ${error.message}`),
    async onUnknownKey(key) {
      seen.asked++
      const externalId = old.get(key)
      return externalId === undefined
        ? null
        : { externalId, name: 'Before', scopes: ['orders:read'], createTenant: true }
    },
  })
  await keyring.ready()
  const gate = createGate(keyring, { getKey: ({ key }) => key })
  const admit = (key: string, scopes = ['orders:read']) => gate.admit({ rawHeaders: [], key }, { scopes })
  return {
    seen,
    keyring,
    admit,
    status: async (key: string, scopes?: string[]) => (await admit(key, scopes)).refusal?.status ?? 200,
    [Symbol.asyncDispose]: () => keyring.close(),
  }
}

test('an old key passes at once, is in the service from then on, and ends there for every node', async () => {
  const old = new Map([
    ['$2b$ old key', 'nobody'],
    ['old-key-17', 'org_before'],
  ])
  await using first = await openNode(old)
  const { key } = await first.admit('old-key-17')
  assert.ok(key)
  assert.deepEqual([key.externalId, key.scopes, key.env], ['org_before', ['orders:read'], 'live'])

  const { body: listed } = await asks('GET', `/v1/keys?project_id=${vendor.projectId}`)
  const { body: tenant } = await asks('GET', `/v1/tenants/${key.tenantId}`)
  assert.equal(tenant.external_id, 'org_before')
  assert.deepEqual(
    listed.data.map((one: Record<string, unknown>) => [one.id, one.name, one.scopes, one.tenant_id]),
    [[key.keyId, 'Before', ['orders:read'], tenant.id]],
  )

  assert.deepEqual(
    [await first.status('old-key-17'), await first.status('old-key-17', ['orders:write'])],
    [200, 403],
  )
  assert.deepEqual([await first.status('invented'), await first.status('a b')], [401, 401])
  assert.deepEqual([first.seen.asked, first.seen.errors], [2, []])

  const { status } = await asks('POST', `/v1/keys/${key.keyId}/revoke`)
  assert.equal(status, 200)
  await until(async () => (await first.status('old-key-17')) === 401, 'the first node refuses')
  assert.equal(first.seen.asked, 2)
  await using fresh = await openNode(old)
  assert.deepEqual([await fresh.status('old-key-17'), await fresh.status('old-key-17')], [401, 401])
  assert.deepEqual([fresh.seen.asked, fresh.seen.errors], [1, []])
})

test('a paused key, and one of a suspended tenant, pass on no node that starts later', async () => {
  const old = new Map([
    ['old-paused', 'org_paused'],
    ['old-suspended', 'org_suspended'],
  ])
  await using first = await openNode(old)
  const [paused, suspended] = [
    (await first.admit('old-paused')).key,
    (await first.admit('old-suspended')).key,
  ]
  assert.ok(paused && suspended)
  assert.equal((await asks('POST', `/v1/keys/${paused.keyId}/disable`)).status, 200)
  assert.equal((await asks('POST', `/v1/tenants/${suspended.tenantId}/suspend`)).status, 200)
  await using fresh = await openNode(old)
  assert.equal(await fresh.status('old-paused'), 401)
  assert.notEqual(await fresh.status('old-suspended'), 200)
  assert.equal((await asks('POST', `/v1/keys/${paused.keyId}/enable`)).status, 200)
  await until(async () => (await fresh.status('old-paused')) === 200, 'the resumed key passes')
  assert.equal(fresh.seen.asked, 1)
})

test('a key of another Keyrail belongs to the environment of its text, on each node', async () => {
  const [live, test] = [drawKey(), drawKey('kr_test')]
  const old = new Map([live, test, 'old-both'].map(key => [key, 'org_both']))
  await using both = await openNode(old, 'both')
  const envs = [live, test, 'old-both'].map(async key => (await both.admit(key)).key?.env)
  assert.deepEqual(await Promise.all(envs), ['live', 'test', 'live'])
  await using ofTest = await openNode(old, 'test')
  await using ofLive = await openNode(old)
  assert.deepEqual([await ofTest.status(test), await ofLive.status(live)], [200, 200])
  assert.deepEqual([await ofTest.status(live), await ofLive.status(test)], [401, 401])
  assert.deepEqual([both.seen.asked, ofTest.seen.asked, ofLive.seen.asked], [3, 0, 0])
  assert.deepEqual([both.seen.errors, ofTest.seen.errors, ofLive.seen.errors], [[], [], []])
})

test('two nodes that see an old key at the same time import it once', async () => {
  const old = new Map([['old-twice', 'org_twice']])
  await using one = await openNode(old)
  await using other = await openNode(old)
  const all = await Promise.all([one, one, other, other].map(node => node.admit('old-twice')))
  const ids = new Set(all.map(({ key }) => key?.keyId))
  assert.equal(ids.size, 1)
  assert.ok(!ids.has(undefined))
  assert.deepEqual([one.seen.asked, other.seen.asked, one.seen.errors, other.seen.errors], [1, 1, [], []])
})

test('a node whose secret key may not import refuses, and says why', async () => {
  const { key: lacking } = await makeSecretKey(service, vendor, { permissions: ['policy:read'] })
  const errors: string[] = []
  await using keyring = createKeyring({
    ...settings,
    importWith: lacking,
    onUnknownKey: async () => ({ externalId: 'org_none', createTenant: true }),
    onError: error => errors.push(error.code),
  })
  await keyring.ready()
  const gate = createGate(keyring, { getKey: ({ key }) => key })
  assert.equal((await gate.admit({ rawHeaders: [], key: 'old-key-18' })).refusal?.status, 503)
  assert.deepEqual(errors, ['insufficient_permission'])
})
