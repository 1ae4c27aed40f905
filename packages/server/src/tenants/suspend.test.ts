import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query, clock } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const suspend = (id: string, body = {}, more = '') =>
  ask('POST', `/v1/tenants/${id}/suspend${more}`, { token: live, body })
const resume = (id: string, more = '') => ask('POST', `/v1/tenants/${id}/resume${more}`, { token: live })
const get = async (id: string) => (await ask('GET', `/v1/tenants/${id}`, { token: live })).body
const rowsOf = (tenantId: string) =>
  query('select to_jsonb(k) as row from api_keys k where tenant_id = $1 order by id', [tenantId])
const audited = async (id: string) =>
  (await query('select action, payload from audit_logs where target_id = $1 order by seq', [id])).map(
    ({ action, payload }) => [action, JSON.parse(payload)],
  )
const poll = (node: string, projectId: string, since: number, more = '') =>
  ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=${node}${more}`, { token: live })

/** A tenant with keys of its own. */
async function withKeys(...bodies: object[]) {
  const { id } = await makeTenant(harness, vendor)
  const keys = []
  for (const body of bodies) keys.push(await issueKey(harness, vendor, { tenant_id: id, ...body }))
  return { id, keys }
}

test('a suspension touches no row of a key, and resuming gives back the tenant as it was', async () => {
  const { id } = await withKeys({ name: 'CI', scopes: ['read'] }, { env: 'test' })
  const [before, rows] = [await get(id), await rowsOf(id)]
  assert.deepEqual([before.suspended_at, before.suspended_reason], [null, null])
  clock.advance(1_000)
  const { status, body } = await suspend(id, { reason: 'unpaid' })
  assert.deepEqual([status, body.suspended_reason], [200, 'unpaid'])
  assert.equal(body.suspended_at, new Date(clock.now()).toISOString())
  assert.deepEqual(await get(id), body)
  assert.deepEqual(await rowsOf(id), rows)
  clock.advance(1_000)
  assert.deepEqual((await resume(id)).body, { ...before, updated_at: new Date(clock.now()).toISOString() })
  assert.deepEqual(await rowsOf(id), rows)
  assert.deepEqual((await audited(id)).slice(1), [
    ['tenant.suspended', { reason: 'unpaid' }],
    ['tenant.resumed', {}],
  ])
})

test('a repeat keeps time and reason, raises no version and writes no audit row', async () => {
  const { id } = await withKeys({})
  const version = async () =>
    (await query('select version from policy_heads where project_id = $1', [vendor.projectId]))[0].version
  const first = await version()
  await resume(id)
  const { body } = await suspend(id)
  clock.advance(1_000)
  assert.deepEqual((await suspend(id, { reason: 'again' })).body, body)
  assert.equal(await version(), first + 1)
  await resume(id)
  await resume(id)
  assert.equal(await version(), first + 2)
  assert.deepEqual(
    (await audited(id)).map(([action]) => action),
    ['tenant.created', 'tenant.suspended', 'tenant.resumed'],
  )
})

test('the vendor goes on to issue, rotate, pause and revoke keys of a suspended tenant', async () => {
  const { id, keys } = await withKeys({}, {}, {})
  await suspend(id)
  const [rotated, paused, revoked] = keys.map(key => `/v1/keys/${key.id}`)
  const call = async (path: string, body = {}) => (await ask('POST', path, { token: live, body })).status
  const create = { project_id: vendor.projectId, tenant_id: id, env: 'live' }
  assert.deepEqual(
    [
      await call('/v1/keys', create),
      await call(`${rotated}/rotate`),
      await call(`${paused}/disable`),
      await call(`${revoked}/revoke`),
    ],
    [201, 200, 200, 200],
  )
  const patched = await ask('PATCH', `/v1/tenants/${id}`, { token: live, body: { name: 'Still here' } })
  assert.deepEqual([patched.status, typeof patched.body.suspended_at], [200, 'string'])
})

test('wait=true adds up the nodes of every project in which the tenant has keys', async () => {
  const second = await makeProject(harness, vendor)
  const other = await makeProject(harness, vendor)
  const { id } = await withKeys({}, { env: 'test' }, { project_id: second.id, env: 'test' })
  const versions = await query('select project_id, version from policy_heads where project_id = any($1)', [
    [vendor.projectId, second.id, other.id],
  ])
  const versionOf = (id: string) => versions.find(({ project_id }) => project_id === id)?.version
  await poll('both', vendor.projectId, versionOf(vendor.projectId))
  await poll('test', second.id, versionOf(second.id), '&env=test')
  await poll('live', second.id, versionOf(second.id), '&env=live')
  await poll('elsewhere', other.id, versionOf(other.id))
  const first = (await suspend(id, {}, '?wait=true')).body
  assert.deepEqual(
    [first.propagation.nodes, first.propagation.nodes_acknowledged, first.propagation.acknowledged],
    [2, 0, false],
  )
  assert.deepEqual(first.propagation.pending.toSorted(), ['both', 'test'])
  await poll('both', vendor.projectId, versionOf(vendor.projectId) + 1)
  await poll('test', second.id, versionOf(second.id) + 1, '&env=test')
  // A later change of the name is no part of what a repeat waits for.
  await ask('PATCH', `/v1/tenants/${id}`, { token: live, body: { name: 'Renamed' } })
  const again = (await suspend(id, {}, '?wait=true')).body.propagation
  assert.deepEqual([again.nodes, again.nodes_acknowledged, again.acknowledged], [2, 2, true])
  assert.equal(again.version, Math.max(versionOf(vendor.projectId), versionOf(second.id)) + 1)
  const resumed = (await resume(id, '?wait=true')).body.propagation
  assert.deepEqual([resumed.acknowledged, resumed.nodes], [false, 2])
})

test('a tenant without keys is suspended at once', async () => {
  const { id } = await makeTenant(harness, vendor)
  const { propagation } = (await suspend(id, {}, '?wait=true')).body
  assert.deepEqual(propagation, {
    acknowledged: true,
    version: 0,
    nodes: 0,
    nodes_acknowledged: 0,
    pending: [],
    waited_ms: 0,
  })
})

test('a tenant that is deleted or of another workspace is neither suspended nor resumed', async () => {
  const { id } = await makeTenant(harness, vendor)
  const other = await makeVendor(harness)
  for (const verb of ['suspend', 'resume'])
    assert.equal((await ask('POST', `/v1/tenants/${id}/${verb}`, { token: other.live })).status, 404, verb)
  await suspend(id)
  await ask('DELETE', `/v1/tenants/${id}`, { token: live })
  assert.deepEqual([(await suspend(id)).status, (await resume(id)).status], [404, 404])
})

test('a secret key without tenants:write, and one of test, do neither', async () => {
  const { id } = await makeTenant(harness, vendor)
  const reader = await makeSecretKey(harness, vendor, { permissions: ['tenants:read'] })
  for (const [token, code] of [
    [reader.key, 'insufficient_permission'],
    [vendor.test, 'live_credential_required'],
  ] as const) {
    for (const verb of ['suspend', 'resume']) {
      const { status, body } = await ask('POST', `/v1/tenants/${id}/${verb}`, { token })
      assert.deepEqual([status, body.code], [403, code], verb)
    }
  }
})
