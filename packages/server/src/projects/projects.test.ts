import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const limits = [{ id: 'burst', limit: 10, window_ms: 1000, algorithm: 'fixed', scope: 'tenant' }]

const create = (more: Record<string, unknown> = {}) =>
  ask('POST', '/v1/projects', { token: live, body: { name: 'Maps', slug: uniqueSlug('maps'), ...more } })
const headOf = async (id: string) =>
  (await query('select version, floor, project_deleted from policy_heads where project_id = $1', [id]))[0]

test('a project is created with its defaults and is read back unchanged', async () => {
  const { body } = await create()
  assert.deepEqual([body.key_prefix, body.default_rate_limits, body.policy_version], ['kr', [], 1])
  assert.deepEqual((await ask('GET', `/v1/projects/${body.id}`, { token: live })).body, body)
})

test('a test key cannot observe changes of live keys through a project', async () => {
  const read = async (token: string) => [
    (await ask('GET', `/v1/projects/${vendor.projectId}`, { token })).body,
    (await ask('GET', '/v1/projects', { token })).body,
  ]
  const [before, versionBefore] = [await read(vendor.test), (await read(live))[0].policy_version]
  assert.equal(before[0].policy_version, null)
  const { id } = await issueKey(harness, vendor)
  await ask('POST', `/v1/keys/${id}/revoke`, { token: live })
  assert.deepEqual(await read(vendor.test), before)
  assert.ok((await read(live))[0].policy_version > versionBefore)
})

test('a slug is unique in a workspace, and free again after deletion', async () => {
  const slug = uniqueSlug('once')
  const first = await create({ slug })
  assert.equal((await create({ slug })).body.code, 'slug_taken')
  const renamed = await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: live, body: { slug } })
  assert.equal(renamed.body.code, 'slug_taken')
  const other = await makeVendor(harness)
  const elsewhere = await ask('POST', '/v1/projects', { token: other.live, body: { name: 'n', slug } })
  assert.equal(elsewhere.status, 201)
  await ask('DELETE', `/v1/projects/${first.body.id}`, { token: live })
  assert.equal((await create({ slug })).status, 201)
})

test('a reserved key prefix is refused', async () => {
  for (const key_prefix of ['krsk', 'krses', 'sk', 'pk', 'rk', 'ghp', 'K', '1a', 'a', 'a'.repeat(17)]) {
    assert.equal((await create({ key_prefix })).body.errors[0].path, 'key_prefix', key_prefix)
  }
  assert.equal((await create({ key_prefix: 'skip' })).status, 201)
})

test('new default limits raise the version and the floor; other changes raise neither', async () => {
  const { body } = await create()
  await ask('PATCH', `/v1/projects/${body.id}`, { token: live, body: { name: 'Other' } })
  assert.deepEqual(await headOf(body.id), { version: 1, floor: 1, project_deleted: false })
  const patched = await ask('PATCH', `/v1/projects/${body.id}`, {
    token: live,
    body: { default_rate_limits: limits },
  })
  assert.deepEqual([patched.body.policy_version, patched.body.default_rate_limits], [2, limits])
  assert.deepEqual(await headOf(body.id), { version: 2, floor: 2, project_deleted: false })
  await ask('PATCH', `/v1/projects/${body.id}`, { token: live, body: { default_rate_limits: limits } })
  assert.equal((await headOf(body.id)).version, 2)
})

test('an update audits the old and new values of changed fields only', async () => {
  const { body } = await create()
  await ask('PATCH', `/v1/projects/${body.id}`, {
    token: live,
    body: { name: 'New', default_rate_limits: limits },
  })
  const [row] = await query(
    "select payload from audit_logs where target_id = $1 and action = 'project.updated'",
    [body.id],
  )
  assert.deepEqual(JSON.parse(row.payload), {
    default_rate_limits: { new: limits, old: [] },
    name: { new: 'New', old: 'Maps' },
  })
})

test('deleting a project revokes and audits every key under it, and no other key', async () => {
  const { body: project } = await create()
  const keys = [
    await issueKey(harness, vendor, { project_id: project.id }),
    await issueKey(harness, vendor, { project_id: project.id, env: 'test' }),
  ]
  const revoked = await issueKey(harness, vendor, { project_id: project.id })
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: live, body: { reason: 'before' } })
  const bystander = await issueKey(harness, vendor)

  const { status, body } = await ask('DELETE', `/v1/projects/${project.id}`, { token: live })
  assert.deepEqual([status, body], [200, { object: 'project', id: project.id, deleted: true }])
  for (const { id } of keys) {
    const key = await ask('GET', `/v1/keys/${id}`, { token: live })
    assert.equal(key.body.revoked_reason, 'project_deleted')
  }
  assert.equal((await ask('GET', `/v1/keys/${revoked.id}`, { token: live })).body.revoked_reason, 'before')
  assert.equal((await ask('GET', `/v1/keys/${bystander.id}`, { token: live })).body.revoked_at, null)
  assert.equal((await headOf(project.id)).project_deleted, true)
  const rows = await query(
    `select action, target_id, payload from audit_logs where seq > (select seq from audit_logs
       where target_id = $1 and action = 'project.deleted') - 1 and workspace_id = $2 order by seq`,
    [project.id, vendor.workspaceId],
  )
  assert.deepEqual(
    rows.map(row => [row.action, row.target_id]),
    [['project.deleted', project.id], ...keys.map(({ id }) => ['api_key.revoked', id])],
  )
  assert.deepEqual(JSON.parse(rows[0].payload), { keys_revoked: { live: 1, test: 1 } })
})

test('a deleted project is missing on every route and for new keys', async () => {
  const { body: project } = await create()
  await ask('DELETE', `/v1/projects/${project.id}`, { token: live })
  const at = `/v1/projects/${project.id}`
  assert.equal((await ask('GET', at, { token: live })).status, 404)
  assert.equal((await ask('PATCH', at, { token: live, body: { name: 'x' } })).status, 404)
  assert.equal((await ask('DELETE', at, { token: live })).status, 404)
  const listed = await ask('GET', '/v1/projects?limit=200', { token: live })
  assert.ok(!listed.body.data.some((row: { id: string }) => row.id === project.id))
  const key = await ask('POST', '/v1/keys', {
    token: live,
    body: { project_id: project.id, tenant_id: vendor.tenantId, env: 'live' },
  })
  assert.equal(key.status, 404)
})
