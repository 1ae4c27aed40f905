import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

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

test('a paused key counts towards the cap, so that it can be resumed', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  await issueKey(harness, vendor)
  await issueKey(harness, vendor)
  await ask('POST', `/v1/keys/${key.id}/disable`, { token: vendor.live })
  assert.equal((await create(vendor)).status, 409)
  assert.equal((await ask('POST', `/v1/keys/${key.id}/enable`, { token: vendor.live })).status, 200)
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

test('a new expiry that makes an expired key active needs the room of a new key', async () => {
  const vendor = await makeVendor(harness)
  const expired = await Promise.all(
    Array.from({ length: 8 }, () => issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })),
  )
  const renew = (id: string, expires_at: string | null) =>
    ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { expires_at } })
  const answers = await Promise.all(expired.map(({ id }) => renew(id, null)))
  assert.deepEqual(answers.map(answer => answer.status).toSorted(), [200, 200, 200, 409, 409, 409, 409, 409])
  assert.equal(answers.find(answer => answer.status === 409)?.body.code, 'key_limit_reached')
  const index = answers.findIndex(answer => answer.status === 200)
  const later = await renew(expired[index].id, '2999-01-01T00:00:00Z')
  assert.equal(later.status, 200, 'an active key has its room')
  const other = answers.findIndex(answer => answer.status === 409)
  assert.equal((await renew(expired[other].id, '2021-01-01T00:00:00Z')).status, 200, 'it stays expired')
})
