import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeTenant, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const office = ['203.0.113.0/24']

const patch = (id: string, body: object) => ask('PATCH', `/v1/tenants/${id}`, { token: live, body })
const get = async (id: string) => (await ask('GET', `/v1/tenants/${id}`, { token: live })).body
const version = async () =>
  (await query('select version from policy_heads where project_id = $1', [vendor.projectId]))[0].version

test('a tenant has the networks that it was made with, and none at first', async () => {
  const made = await makeTenant(harness, vendor, {
    allowed_cidrs: ['203.0.113.0/24', '::FFFF:203.0.113.0/120'],
  })
  assert.deepEqual(made.allowed_cidrs, office)
  assert.deepEqual((await get(made.id)).allowed_cidrs, office)
  const plain = await makeTenant(harness, vendor)
  assert.deepEqual([plain.allowed_cidrs, (await get(plain.id)).allowed_cidrs], [[], []])
  assert.equal((await patch(plain.id, { allowed_cidrs: null })).status, 400)
})

test('an update replaces the list, raises the version once, and a repeat changes nothing', async () => {
  const { id } = await makeTenant(harness, vendor)
  for (let n = 0; n < 3; n += 1) await issueKey(harness, vendor, { tenant_id: id })
  const first = await version()
  for (const list of [office, office, ['2001:db8::/32'], []])
    assert.deepEqual((await patch(id, { allowed_cidrs: list })).body.allowed_cidrs, list)
  assert.equal(await version(), first + 3)
  const rows = await query(
    `select payload from audit_logs where target_id = $1 and action = 'tenant.updated'`,
    [id],
  )
  assert.deepEqual(
    rows.map(({ payload }) => JSON.parse(payload)),
    [
      { allowed_cidrs: { old: [], new: office } },
      { allowed_cidrs: { old: office, new: ['2001:db8::/32'] } },
      { allowed_cidrs: { old: ['2001:db8::/32'], new: [] } },
    ],
  )
})

test('no other change of a tenant touches its networks', async () => {
  const { id } = await makeTenant(harness, vendor, { allowed_cidrs: office })
  const post = (verb: string) => ask('POST', `/v1/tenants/${id}/${verb}`, { token: live })
  await patch(id, { name: 'Acme' })
  for (const verb of ['suspend', 'embed_tokens/revoke', 'resume']) await post(verb)
  assert.deepEqual((await get(id)).allowed_cidrs, office)
})

test('a list that races with a suspension, a name and a deletion loses none of them', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { id } = await makeTenant(harness, vendor)
    await issueKey(harness, vendor, { tenant_id: id })
    await Promise.all([
      patch(id, { allowed_cidrs: office }),
      ask('POST', `/v1/tenants/${id}/suspend`, { token: live }),
      patch(id, { name: 'Acme' }),
    ])
    const { name, allowed_cidrs, suspended_at } = await get(id)
    assert.deepEqual([name, allowed_cidrs, typeof suspended_at], ['Acme', office, 'string'])
    const [list, gone] = await Promise.all([
      patch(id, { allowed_cidrs: [] }),
      ask('DELETE', `/v1/tenants/${id}`, { token: live }),
    ])
    assert.equal(gone.status, 200)
    const stored = await query('select allowed_cidrs from tenants where id = $1', [id])
    assert.deepEqual(stored[0].allowed_cidrs, list.status === 200 ? [] : office)
    assert.equal((await patch(id, { allowed_cidrs: [] })).status, 404)
  }
})
