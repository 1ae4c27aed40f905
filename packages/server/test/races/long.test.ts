import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../harness.ts'
import { until } from '../until.ts'
import { issueKey, makeSecretKey, makeVendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'

const harness = await startHarness()
const { ask, query } = harness

test('a secret key is revoked during its own long deletion, which then fails', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const thief = await makeSecretKey(harness, vendor)
  await query(`
    create function test_slow() returns trigger language plpgsql as 'begin perform pg_sleep(4); return new; end';
    create trigger test_slow before update on api_keys for each row execute function test_slow()`)
  const deletion = ask('DELETE', `/v1/tenants/${vendor.tenantId}`, { token: thief.key })
  const sleeping = `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  await until(async () => (await query(sleeping)).length > 0)
  const revoked = await ask('POST', `/v1/secret_keys/${thief.id}/revoke`, { token: vendor.live })
  assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
  const refused = await deletion
  assert.deepEqual([refused.status, refused.body.code], [401, 'unauthenticated'])
  const kept = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(kept.body.revoked_at, null)
  assert.equal((await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })).status, 200)
  assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
})
