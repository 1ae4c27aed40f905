import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startHarness } from '../harness.ts'
import { issueKey, makeVendor } from '../vendor.ts'
import { faultsOf } from '../whole.ts'

const harness = await startHarness()
const { ask, query } = harness

test('a secret key is revoked in the midst of a long deletion of its own, which then comes to nothing', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const { body: thief } = await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })
  await query(`
    create function test_slow() returns trigger language plpgsql as 'begin perform pg_sleep(4); return new; end';
    create trigger test_slow before update on api_keys for each row execute function test_slow()`)
  const deletion = ask('DELETE', `/v1/tenants/${vendor.tenantId}`, { token: thief.key })
  while (
    (
      await query(
        `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
      )
    ).length === 0
  )
    await setTimeout(20)
  const revoked = await ask('POST', `/v1/secret_keys/${thief.id}/revoke`, { token: vendor.live })
  assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
  const refused = await deletion
  assert.deepEqual([refused.status, refused.body.code], [401, 'unauthenticated'])
  const kept = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(kept.body.revoked_at, null)
  assert.equal((await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })).status, 200)
  assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
})
