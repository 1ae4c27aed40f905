import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeTenant, makeVendor } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const token = vendor.live

/** A key, alone in a new tenant and project, that expired an hour ago or so many seconds ago. */
async function expiredKey(secondsAgo = 3_600) {
  const [{ id: tenant_id }, { id: project_id }] = [
    await makeTenant(harness, vendor),
    await makeProject(harness, vendor),
  ]
  const { id } = await issueKey(harness, vendor, { tenant_id, project_id })
  const ended = new Date(Date.now() - secondsAgo * 1_000)
  await query('update api_keys set expires_at = $2 where id = $1', [id, ended])
  return { id, tenant_id, project_id }
}
const remove = (kind: 'tenants' | 'projects', id: string) => ask('DELETE', `/v1/${kind}/${id}`, { token })
const patch = (id: string, body: object) => ask('PATCH', `/v1/keys/${id}`, { token, body })
const codeOf = async (id: string, body: object) => {
  const answer = await patch(id, body)
  return [answer.status, answer.body.code]
}

for (const kind of ['tenants', 'projects'] as const)
  test(`an end of ${kind} writes nothing for keys that have expired, and none of them is renewed`, async () => {
    const key = await expiredKey()
    const parent = kind === 'tenants' ? key.tenant_id : key.project_id
    await issueKey(harness, vendor, { tenant_id: key.tenant_id, project_id: key.project_id })
    assert.equal((await remove(kind, parent)).status, 200)
    const [row] = await query(
      `select payload from audit_logs where target_id = $1 and action like '%.deleted'`,
      [parent],
    )
    const payload = JSON.parse(String(row.payload))
    assert.deepEqual(payload.keys_revoked, { live: 1, test: 0 })
    assert.equal((await ask('GET', `/v1/keys/${key.id}`, { token })).body.revoked_at, null)
    for (const expires_at of [null, new Date(Date.now() + 1e6).toISOString()])
      assert.deepEqual(await codeOf(key.id, { expires_at }), [409, 'key_not_active'])
    assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
  })

test('an expired key of a deleted project is revoked, and then its tenant is deleted', async () => {
  const key = await expiredKey()
  const young = await expiredKey(10)
  await remove('projects', key.project_id)
  const revoked = await ask('POST', `/v1/keys/${key.id}/revoke`, { token, body: { reason: 'leaked' } })
  assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
  assert.equal(revoked.body.revoked_reason, 'leaked')
  assert.equal((await remove('tenants', key.tenant_id)).status, 200)
  assert.equal((await remove('tenants', young.tenant_id)).status, 200)
  const { body } = await ask('GET', `/v1/keys/${young.id}`, { token })
  assert.equal(body.revoked_reason, 'tenant_deleted', 'the clock may be set back by a minute')
})

test('a tenant is deleted while a key of it in a deleted project expired just now', async () => {
  const key = await expiredKey(-3_600)
  await remove('projects', key.project_id)
  await query('update api_keys set revoked_at = null, revoked_reason = null where id = $1', [key.id])
  assert.equal((await remove('tenants', key.tenant_id)).status, 200)
})
