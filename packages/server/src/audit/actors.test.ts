import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLog } from '@keyrail/contract/vendor/audit'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeSecretKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId, tenantId } = vendor

const newest = async (token = live): Promise<AuditLog> => {
  const { status, body } = await ask('GET', '/v1/audit_logs?order=desc&limit=1', { token })
  assert.equal(status, 200)
  return body.data[0]
}
const rename = (token: string, name: string) =>
  ask('PATCH', `/v1/tenants/${tenantId}`, { token, body: { name } })

test('a row names the secret key that acted as it is called today, until it is gone', async () => {
  const key = await makeSecretKey(harness, vendor, { name: 'Deploys' })
  await rename(key.key, 'By a key')
  assert.deepEqual((await newest()).actor_secret_key, { name: 'Deploys', display_prefix: key.display_prefix })
  await query('update secret_keys set name = $2 where id = $1', [key.id, 'Releases'])
  assert.equal((await newest()).actor_secret_key?.name, 'Releases')
  await query('update audit_logs set actor_id = $2 where actor_id = $1', [key.id, vendor.workspaceId])
  const row = await newest()
  assert.deepEqual([row.actor_secret_key, row.actor, row.actor_tenant], [undefined, undefined, undefined])
})

test('a row of an embed token names its tenant, also one that rotates or revokes', async () => {
  const token = await mintToken(harness, vendor)
  const { body: tenant } = await ask('GET', `/v1/tenants/${tenantId}`, { token: live })
  const { body: key } = await ask('POST', '/v1/embed/keys', { token, body: { name: 'shop' } })
  const rows = [await newest()]
  await ask('POST', `/v1/embed/keys/${key.id}/rotate`, { token, body: {} })
  rows.push(await newest())
  await ask('POST', `/v1/embed/keys/${key.id}/revoke`, { token })
  rows.push(await newest())
  for (const { actor_type, actor_tenant, actor_secret_key } of rows) {
    const { id, external_id, name } = tenant
    assert.deepEqual(
      [actor_type, actor_tenant, actor_secret_key],
      ['embed_token', { id, external_id, name }, undefined],
    )
  }
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['api_key.created', 'api_key.rotated', 'api_key.revoked'],
  )
})

test('every filter names who acted; neither a test credential nor the export does', async () => {
  const admin = await makePerson(query, { workspaceId, role: 'admin' })
  await rename(admin.token, 'By a person')
  await rename(live, 'By the key')
  const list = async (filter: string, token = live): Promise<AuditLog[]> =>
    (await ask('GET', `/v1/audit_logs?order=desc&${filter}`, { token })).body.data
  for (const filter of ['', 'action=tenant.updated', `target_id=${tenantId}`, `actor_id=${vendor.liveId}`]) {
    const named = (await list(filter)).filter(row => row.actor_id === vendor.liveId)
    assert.ok(named.length > 0 && named.every(row => row.actor_secret_key !== undefined), filter)
    const seen = await list(filter, vendor.test)
    for (const { actor, actor_secret_key, actor_tenant } of seen)
      assert.deepEqual([actor, actor_secret_key, actor_tenant], [undefined, undefined, undefined])
  }
  const exported: string = (await ask('GET', '/v1/audit_logs/export', { token: live })).body
  assert.ok(exported.includes('"actor":') && !/"actor_(secret_key|tenant)"/.test(exported))
})
