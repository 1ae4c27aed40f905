import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const patch = (id: string, allowed_cidrs: unknown) =>
  ask('PATCH', `/v1/keys/${id}`, { token: live, body: { allowed_cidrs } })
const written = ['2001:DB8:0:0::/32', '203.0.113.7', '::ffff:10.0.0.0/104', '203.0.113.7/32']
const stored = ['2001:db8::/32', '203.0.113.7/32', '10.0.0.0/8']

test('a key has the networks that it was made with, each once and in canonical form', async () => {
  const made = await issueKey(harness, vendor, { allowed_cidrs: written })
  assert.deepEqual(made.allowed_cidrs, stored)
  const { body } = await ask('GET', `/v1/keys/${made.id}`, { token: live })
  assert.deepEqual(body.allowed_cidrs, stored)
  const listed = (await ask('GET', '/v1/keys', { token: live })).body.data
  assert.deepEqual(listed[0].allowed_cidrs, stored)
  const lists = []
  for (const more of [{}, { allowed_cidrs: null }, { allowed_cidrs: [] }])
    lists.push((await issueKey(harness, vendor, more)).allowed_cidrs)
  assert.deepEqual(lists, [null, null, []])
})

test('an update replaces the list, and its audit row has the old and the new one', async () => {
  const { id } = await issueKey(harness, vendor)
  const lists: (string[] | null)[] = [null, stored, [], null]
  for (const [i, given] of [written, [], null].entries()) {
    const { status, body } = await patch(id, given)
    assert.deepEqual([status, body.allowed_cidrs], [200, lists[i + 1]])
  }
  await patch(id, null)
  const rows = await query(
    `select payload from audit_logs where target_id = $1 and action = 'api_key.updated'`,
    [id],
  )
  assert.deepEqual(
    rows.map(({ payload }) => JSON.parse(payload)),
    [0, 1, 2].map(i => ({ allowed_cidrs: { old: lists[i], new: lists[i + 1] } })),
  )
})

test('another field leaves the list, and a rotation keeps it', async () => {
  const { id } = await issueKey(harness, vendor, { allowed_cidrs: written })
  const named = await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { name: 'CI' } })
  assert.deepEqual(named.body.allowed_cidrs, stored)
  const rotated = await ask('POST', `/v1/keys/${id}/rotate`, { token: live })
  assert.deepEqual([rotated.status, rotated.body.allowed_cidrs], [200, stored])
  const none = await issueKey(harness, vendor, { allowed_cidrs: [] })
  assert.deepEqual((await ask('POST', `/v1/keys/${none.id}/rotate`, { token: live })).body.allowed_cidrs, [])
})

test('a range that cannot be read is refused with its place, and a list beyond its bound too', async () => {
  const { id } = await issueKey(harness, vendor)
  const many = Array.from({ length: 33 }, (_, i) => `10.0.0.${i}`)
  for (const [given, path] of [
    [['10.0.0.0/8', '10.0.0.1/8'], 'allowed_cidrs.1'],
    [['010.0.0.1'], 'allowed_cidrs.0'],
    [['10.0.0.0/8', '::/0', 'fe80::1%eth0'], 'allowed_cidrs.2'],
    [many, 'allowed_cidrs'],
    ['10.0.0.0/8', 'allowed_cidrs'],
    [[null], 'allowed_cidrs.0'],
  ] as const) {
    const create = {
      project_id: vendor.projectId,
      tenant_id: vendor.tenantId,
      env: 'live',
      allowed_cidrs: given,
    }
    for (const { status, body } of [
      await patch(id, given),
      await ask('POST', '/v1/keys', { token: live, body: create }),
      await ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token: live, body: { allowed_cidrs: given } }),
      await ask('POST', '/v1/tenants', { token: live, body: { external_id: 'x', allowed_cidrs: given } }),
    ])
      assert.deepEqual([status, body.errors[0].path], [400, path], JSON.stringify(given))
  }
  assert.equal((await patch(id, many.slice(1))).status, 200)
})

test('every range of a list that cannot be read is named, in the order of the list', async () => {
  const { status, body } = await ask('PATCH', `/v1/tenants/${vendor.tenantId}`, {
    token: live,
    body: { allowed_cidrs: ['10.0.0.5/8', '10.0.0.0/8', 'hello'] },
  })
  assert.deepEqual([status, body.detail], [400, 'allowed_cidrs.0: has bits set after its prefix of 8'])
  assert.deepEqual(body.errors, [
    { path: 'allowed_cidrs.0', message: 'has bits set after its prefix of 8' },
    { path: 'allowed_cidrs.2', message: 'must be an IPv4 or IPv6 address, with or without a prefix length' },
  ])
})
