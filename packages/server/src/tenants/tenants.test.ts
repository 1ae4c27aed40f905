import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const create = (more: Record<string, unknown> = {}) =>
  ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug('org'), ...more } })
const epochOf = async (id: string) =>
  (await query('select embed_epoch from tenants where id = $1', [id]))[0].embed_epoch

test('a tenant is created, read, changed and listed', async () => {
  const { body } = await create({ name: 'Globex', meta: { plan: 'pro', nested: { a: [1, null, 'x'] } } })
  assert.deepEqual((await ask('GET', `/v1/tenants/${body.id}`, { token: live })).body, body)
  const patched = await ask('PATCH', `/v1/tenants/${body.id}`, {
    token: live,
    body: { name: null, meta: {} },
  })
  assert.deepEqual([patched.body.name, patched.body.meta], [null, {}])
  const listed = await ask('GET', '/v1/tenants?limit=1', { token: live })
  assert.equal(listed.body.data[0].id, body.id)
})

test('meta keeps the order and values as sent', async () => {
  const meta = { zeta: 1, alpha: { b: 1.5, a: -0.1 }, list: [true, false, null, '\u{1f511}'], e: 1e300 }
  const { body } = await create({ meta })
  const { body: read } = await ask('GET', `/v1/tenants/${body.id}`, { token: live })
  assert.equal(JSON.stringify(read.meta), JSON.stringify(meta))
})

test('an external id is unique in a workspace, and free again after deletion', async () => {
  const external_id = uniqueSlug()
  const first = await create({ external_id })
  assert.equal((await create({ external_id })).body.code, 'external_id_taken')
  await ask('DELETE', `/v1/tenants/${first.body.id}`, { token: live })
  assert.equal((await create({ external_id })).status, 201)
})

test('revoking embed tokens raises the epoch and writes one audit row', async () => {
  const { body } = await create()
  const { body: answer } = await ask('POST', `/v1/tenants/${body.id}/embed_tokens/revoke`, { token: live })
  assert.equal(answer.tenant_id, body.id)
  assert.equal(await epochOf(body.id), 2)
  const rows = await query('select action from audit_logs where target_id = $1 order by seq', [body.id])
  assert.deepEqual(
    rows.map(row => row.action),
    ['tenant.created', 'tenant.embed_tokens_revoked'],
  )
})

test('deleting a tenant revokes its keys in all projects, one version each, and embed tokens', async () => {
  const { body: tenant } = await create()
  const second = await ask('POST', '/v1/projects', { token: live, body: { name: 'n', slug: uniqueSlug() } })
  const keys = [
    await issueKey(harness, vendor, { tenant_id: tenant.id }),
    await issueKey(harness, vendor, { tenant_id: tenant.id, env: 'test' }),
    await issueKey(harness, vendor, { tenant_id: tenant.id, project_id: second.body.id }),
  ]
  const versions = async () =>
    (
      await query('select version from policy_heads where project_id = any($1) order by project_id', [
        [vendor.projectId, second.body.id],
      ])
    ).map(row => row.version)
  const before = await versions()
  const { status } = await ask('DELETE', `/v1/tenants/${tenant.id}`, { token: live })
  assert.equal(status, 200)
  assert.deepEqual(
    await versions(),
    before.map(version => version + 1),
  )
  for (const { id } of keys) {
    const { body } = await ask('GET', `/v1/keys/${id}`, { token: live })
    assert.equal(body.revoked_reason, 'tenant_deleted')
  }
  assert.equal(await epochOf(tenant.id), 2)
  assert.equal((await ask('GET', `/v1/tenants/${tenant.id}`, { token: live })).status, 404)
  assert.equal((await ask('DELETE', `/v1/tenants/${tenant.id}`, { token: live })).status, 404)
})
