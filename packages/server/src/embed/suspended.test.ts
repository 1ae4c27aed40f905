import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

const session = async (token: string) => (await ask('GET', '/v1/embed/session', { token })).body
const tell = ({ live, tenantId }: { live: string; tenantId: string }, verb: string) =>
  ask('POST', `/v1/tenants/${tenantId}/${verb}`, { token: live })

test('a token of a suspended tenant reads, and its session says that it cannot write', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const old = await mintToken(harness, vendor)
  const before = await session(old)
  assert.equal('suspended' in before.tenant, false)
  await tell(vendor, 'suspend')
  for (const token of [old, await mintToken(harness, vendor)]) {
    const { tenant, can, scopes } = await session(token)
    assert.equal(tenant.suspended, true)
    assert.deepEqual(scopes, ['keys:read'])
    assert.deepEqual(can, {
      read: true,
      write: false,
      update: false,
      pause: false,
      network: false,
      tenant_network: false,
      key_scopes: [],
    })
    const { status, body } = await ask('GET', '/v1/embed/keys', { token })
    assert.deepEqual([status, body.data.map((key: { id: string }) => key.id)], [200, [id]])
    assert.equal((await ask('GET', `/v1/embed/keys/${id}/usage`, { token })).status, 200)
  }
  await tell(vendor, 'resume')
  assert.deepEqual(await session(old), before)
})

test('every write with a token of a suspended tenant is refused, and works when it is resumed', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  const { id } = await issueKey(harness, vendor)
  await tell(vendor, 'suspend')
  const write = async (method: string, path: string, body?: object) => {
    const answer = await ask(method, `/v1/embed/keys${path}`, { token, ...(body !== undefined && { body }) })
    return [answer.status, answer.body.code]
  }
  const writes: [string, string, object?][] = [
    ['POST', '', {}],
    ['PATCH', `/${id}`, { name: 'New' }],
    ['POST', `/${id}/rotate`, {}],
    ['POST', `/${id}/disable`, {}],
    ['POST', `/${id}/enable`],
    ['POST', `/${id}/revoke`, {}],
  ]
  for (const one of writes) assert.deepEqual(await write(...one), [403, 'insufficient_scope'], one.join(' '))
  assert.equal((await query('select from api_keys where tenant_id = $1', [vendor.tenantId])).length, 1)
  await tell(vendor, 'resume')
  for (const one of writes) assert.equal((await write(...one))[1], undefined, one.join(' '))
})
