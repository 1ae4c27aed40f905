import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { createEndedRoom, type EndedRoom } from './ended-room.ts'

const harness = await startHarness({ maxActiveKeysPerTenant: 3 })
const { ask } = harness

const create = (vendor: Awaited<ReturnType<typeof makeVendor>>) =>
  ask('POST', '/v1/keys', {
    token: vendor.live,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
  })

test('concurrent creations succeed exactly up to the cap', async () => {
  const vendor = await makeVendor(harness)
  const answers = await Promise.all(Array.from({ length: 8 }, () => create(vendor)))
  assert.deepEqual(answers.map(answer => answer.status).toSorted(), [201, 201, 201, 409, 409, 409, 409, 409])
  assert.equal(answers.find(answer => answer.status === 409)?.body.code, 'key_limit_reached')
})

test('revoked and expired keys do not count towards the cap', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const keys = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
  ]
  assert.equal((await create(vendor)).status, 409)
  await ask('POST', `/v1/keys/${keys[0].id}/revoke`, { token: vendor.live })
  assert.equal((await create(vendor)).status, 201)
})

test('at the cap, a rotation works without an overlap; with one it needs room for both keys', async () => {
  const vendor = await makeVendor(harness)
  const [key] = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
  ]
  const overlapping = await ask('POST', `/v1/keys/${key.id}/rotate`, { token: vendor.live })
  assert.equal(overlapping.body.code, 'key_limit_reached')
  const swapped = await ask('POST', `/v1/keys/${key.id}/rotate`, {
    token: vendor.live,
    body: { overlap_hours: 0 },
  })
  assert.equal(swapped.status, 200)
})

test('the ended keys of a tenant are counted again after ten seconds, or where few are left', async () => {
  const wide = createEndedRoom({ maxActiveKeysPerTenant: 3_000 }, harness.clock)
  const narrow = createEndedRoom({ maxActiveKeysPerTenant: 3 }, harness.clock)
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const { workspaceId, tenantId } = vendor
  const counts = (room: EndedRoom) =>
    harness.db.inWorkspace(workspaceId, async tx => {
      const stored = await room.count(tx, tenantId)
      room.assert(tenantId, 1, stored)
      return stored
    })
  assert.deepEqual([await counts(wide), await counts(wide)], [1, null])
  harness.clock.skip(10_000)
  assert.equal(await counts(wide), 1)
  assert.deepEqual([await counts(narrow), await counts(narrow)], [1, 1])
})

test('revoked and expired keys have a cap ten times as high, which revocations pass', async () => {
  const vendor = await makeVendor(harness)
  const { live, tenantId, workspaceId } = vendor
  const kept = await issueKey(harness, vendor)
  const ended = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const copies = (count: number) =>
    harness.query(
      `insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, display_prefix, expires_at, revoked_at,
         created_at, updated_at)
       select workspace_id, sha256(n::text::bytea), gen_random_uuid(), project_id, tenant_id, env, display_prefix, expires_at,
         case when n % 2 = 0 then now() end, now(), now()
       from api_keys, generate_series(1, $2::int) n where id = $1`,
      [ended.id, count],
    )
  await copies(28)
  assert.equal((await create(vendor)).status, 201)
  const last = await issueKey(harness, vendor)
  await ask('POST', `/v1/keys/${last.id}/revoke`, { token: live })

  const rotate = (body: object) => ask('POST', `/v1/keys/${kept.id}/rotate`, { token: live, body })
  for (const answer of [await create(vendor), await rotate({}), await rotate({ overlap_hours: 0 })]) {
    assert.deepEqual([answer.status, answer.body.code], [409, 'key_limit_reached'])
    assert.match(answer.body.detail, /has 30 revoked or expired keys, which is the limit.*90 days/)
  }
  const revoked = await ask('POST', `/v1/keys/${kept.id}/revoke`, { token: live })
  assert.equal(revoked.status, 200)
  // Each tenant has its own caps.
  const tenant = await ask('POST', '/v1/tenants', {
    token: live,
    body: { external_id: 'other', name: 'Other' },
  })
  assert.notEqual(tenant.body.id, tenantId)
  assert.equal((await create({ ...vendor, tenantId: tenant.body.id })).status, 201)
  const rows = await harness.query('select from api_keys where workspace_id = $1', [workspaceId])
  assert.equal(rows.length, 33)
})
