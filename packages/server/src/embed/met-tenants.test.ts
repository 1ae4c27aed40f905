import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { dump } from '../../test/dump.ts'
import { startHarness } from '../../test/harness.ts'
import { auditHeadOf, meet, openBarrier } from '../../test/races/barrier.ts'
import { makeProject, makeSecretKey, makeTenant, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'
import { metAMinute } from '../tenants/meet.ts'

/** Tokens for customers whom the vendor has not created as tenants: `create_tenant` beside `external_id`. */
const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const vendor = await makeVendor(harness)

const mint = (body: object, { token = vendor.live, projectId = vendor.projectId } = {}) =>
  ask('POST', '/v1/embed_tokens', { token, body: { project_id: projectId, env: 'live', ...body } })
const session = (token: string) => ask('GET', '/v1/embed/session', { token })
const newestRows = async (count: number) =>
  (await ask('GET', `/v1/audit_logs?order=desc&limit=${count}`, { token: vendor.live })).body.data

test('a mint creates the tenant that it names, once, and audits that as a creation', async () => {
  const external_id = uniqueSlug('org')
  const first = await mint({ external_id, create_tenant: { name: 'Globex' } })
  assert.equal(first.status, 201)
  const { tenant } = (await session(first.body.token)).body
  assert.deepEqual(tenant, { id: first.body.tenant_id, external_id, name: 'Globex', allowed_cidrs: [] })
  const [row] = await newestRows(1)
  assert.deepEqual(
    [row.action, row.actor_type, row.actor_id, row.target_id, row.env],
    ['tenant.created', 'secret_key', vendor.liveId, tenant.id, null],
  )
  const { body } = await ask('GET', `/v1/tenants/${tenant.id}`, { token: vendor.live })
  assert.deepEqual(row.payload, body)
  assert.deepEqual(body.meta, {})

  const before = await dump(query)
  const again = await mint({ external_id, create_tenant: { name: 'Another name' } })
  assert.deepEqual([again.status, again.body.tenant_id], [201, tenant.id])
  assert.equal((await session(again.body.token)).body.tenant.name, 'Globex')
  assert.deepEqual(await dump(query), before, 'the mint for a known tenant wrote something')
})

test('a tenant may be created without a name', async () => {
  const { body } = await mint({ external_id: uniqueSlug('org'), create_tenant: {} })
  assert.equal((await session(body.token)).body.tenant.name, null)
})

test('create_tenant goes with external_id alone, and takes a name alone', async () => {
  const before = await dump(query)
  const external_id = uniqueSlug('org')
  for (const [body, path] of [
    [{ tenant_id: vendor.tenantId, create_tenant: {} }, 'create_tenant'],
    [{ create_tenant: {} }, 'create_tenant'],
    [{ tenant_id: vendor.tenantId, external_id, create_tenant: {} }, 'external_id'],
    [{ external_id, create_tenant: true }, 'create_tenant'],
    [{ external_id, create_tenant: null }, 'create_tenant'],
    [{ external_id, create_tenant: { name: '' } }, 'create_tenant.name'],
    [{ external_id, create_tenant: { name: 'x'.repeat(201) } }, 'create_tenant.name'],
    [{ external_id, create_tenant: { meta: {} } }, 'create_tenant.meta'],
  ] as const) {
    const refused = await mint(body)
    assert.deepEqual(
      [refused.status, refused.body.errors?.[0]?.path],
      [400, path],
      JSON.stringify(refused.body),
    )
  }
  assert.deepEqual(await dump(query), before)
})

test('a mint that is refused creates no tenant', async () => {
  const before = await dump(query)
  const created = { external_id: uniqueSlug('org'), create_tenant: {} }
  const other = await makeVendor(harness)
  const withOther = await dump(query)
  for (const [body, status] of [
    [{ ...created, project_id: randomUUID() }, 404],
    [{ ...created, project_id: other.projectId }, 404],
    [{ ...created, origins: ['https://unregistered.example'] }, 400],
    [{ ...created, scopes: ['keys'] }, 400],
    [
      {
        ...created,
        scopes: Array.from({ length: 32 }, (_, i) => `key_scope:${'\u{1F600}'.repeat(200)}${i}`),
      },
      400,
    ],
  ] as const) {
    assert.equal((await mint(body)).status, status, JSON.stringify(body).slice(0, 200))
  }
  assert.notDeepEqual(withOther, before)
  assert.deepEqual(await dump(query), withOther)
})

test('a test key mints for existing tenants only', async () => {
  const external_id = uniqueSlug('org')
  const body = { external_id, create_tenant: {}, env: 'test' }
  const refused = await mint(body, { token: vendor.test })
  assert.deepEqual([refused.status, refused.body.code], [403, 'live_credential_required'])
  assert.deepEqual(await query('select id from tenants where external_id = $1', [external_id]), [])
  // A live key creates it for both environments.
  const created = await mint(body)
  const found = await mint(body, { token: vendor.test })
  assert.deepEqual([created.status, found.status], [201, 201])
  assert.equal(found.body.tenant_id, created.body.tenant_id)
})

test('a key of the preset embed creates tenants, within its projects', async () => {
  const other = (await makeProject(harness, vendor)).id
  const { key, id } = await makeSecretKey(harness, vendor, {
    env: 'live',
    preset: 'embed',
    project_ids: [vendor.projectId],
  })
  const external_id = uniqueSlug('org')
  const elsewhere = await mint({ external_id, create_tenant: {} }, { token: key, projectId: other })
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [404, 'not_found'])
  assert.deepEqual(await query('select id from tenants where external_id = $1', [external_id]), [])
  assert.equal((await mint({ external_id, create_tenant: {} }, { token: key })).status, 201)
  assert.equal((await newestRows(1))[0].actor_id, id)
  const directly = await ask('POST', '/v1/tenants', { token: key, body: { external_id: uniqueSlug() } })
  assert.deepEqual([directly.status, directly.body.code], [403, 'insufficient_permission'])
})

test('a deleted tenant is not revived: the mint creates another, with its own tokens', async () => {
  const external_id = uniqueSlug('org')
  const first = (await mint({ external_id, create_tenant: {} })).body
  await ask('DELETE', `/v1/tenants/${first.tenant_id}`, { token: vendor.live })
  const second = (await mint({ external_id, create_tenant: {} })).body
  assert.notEqual(second.tenant_id, first.tenant_id)
  assert.deepEqual([(await session(first.token)).status, (await session(second.token)).status], [401, 200])
})

test('a token for a tenant whose tokens were revoked has the new epoch', async () => {
  const external_id = uniqueSlug('org')
  const first = (await mint({ external_id, create_tenant: {} })).body
  await ask('POST', `/v1/tenants/${first.tenant_id}/embed_tokens/revoke`, { token: vendor.live })
  const second = (await mint({ external_id, create_tenant: {} })).body
  assert.deepEqual([(await session(first.token)).status, (await session(second.token)).status], [401, 200])
})

test('two mints at once for one unknown customer create one tenant, and both get tokens for it', async () => {
  const external_id = uniqueSlug('org')
  const request = () => mint({ external_id, create_tenant: { name: 'Globex' } })
  const answers = await meet(barrier, auditHeadOf(vendor.workspaceId), [request, request])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201],
  )
  const ids = new Set(answers.map(({ body }) => body.tenant_id))
  assert.equal(ids.size, 1)
  for (const { body } of answers) assert.equal((await session(body.token)).status, 200)
  const rows = await query(`select seq from audit_logs where target_id = $1`, [[...ids][0]])
  assert.equal(rows.length, 1)
  assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
})

test('a mint that meets the creation of the same tenant gets that tenant', async () => {
  const external_id = uniqueSlug('org')
  const create = () => ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id } })
  const request = () => mint({ external_id, create_tenant: {} })
  const [created, minted] = await meet(barrier, auditHeadOf(vendor.workspaceId), [create, request])
  assert.deepEqual([created?.status, minted?.status], [201, 201])
  assert.equal(minted?.body.tenant_id, created?.body.id)
  assert.equal((await session(minted?.body.token)).status, 200)
})

test('in a minute, mints create so many tenants and no more; other ways are not counted', async () => {
  const busy = await makeVendor(harness)
  const from = { token: busy.live, projectId: busy.projectId }
  await query(
    `insert into tenants (workspace_id, id, external_id, created_at, updated_at, met_at)
     select $1, gen_random_uuid(), 'met ' || n, now(), now(), service_now() from generate_series(2, $2) n`,
    [busy.workspaceId, metAMinute],
  )
  await makeTenant(harness, busy)
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => mint({ external_id: uniqueSlug('org'), create_tenant: {} }, from)),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 429, 429, 429])
  const refused = answers.find(({ status }) => status === 429)
  assert.equal(refused?.body.code, 'too_many_requests')
  const wait = Number(refused?.headers['retry-after'])
  assert.ok(wait >= 1 && wait <= 60, String(wait))
  // A known tenant and the vendor's own creations go on.
  assert.equal((await mint({ external_id: 'met 2', create_tenant: {} }, from)).status, 201)
  assert.equal((await makeTenant(harness, busy)).id.length, 36)
  await query(`update tenants set met_at = met_at - interval '60 seconds' where workspace_id = $1`, [
    busy.workspaceId,
  ])
  assert.equal((await mint({ external_id: uniqueSlug('org'), create_tenant: {} }, from)).status, 201)
})
