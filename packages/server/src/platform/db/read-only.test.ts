import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { figuresFrom } from '../../../test/figures.ts'
import { startHarness } from '../../../test/harness.ts'
import { until } from '../../../test/until.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'

const harness = await startHarness()
const { ask, connection, deps, query } = harness
const vendor = await makeVendor(harness)
await issueKey(harness, vendor)
const by = { token: vendor.live }
const read = (path: string) => ask('GET', path, by)
const create = async () =>
  (await ask('POST', '/v1/tenants', { ...by, body: { external_id: randomUUID() } })).status
const refused = figuresFrom(deps.metrics)

/** What a provider does to a database whose disk is nearly full; connections that open from now on have it. */
async function set(value: 'on' | 'off'): Promise<void> {
  await query(
    `set default_transaction_read_only = off;
     alter database ${connection.database} set default_transaction_read_only = ${value}`,
  )
  await query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and application_name like 'keyrail %'`,
  )
}

test('a database that a provider makes read-only: changes are 503 and counted, reads go on', async () => {
  assert.equal(await create(), 201)
  await set('on')
  for (let round = 0; round < 3; round += 1) {
    assert.equal(await create(), 503)
    for (const path of [
      '/v1/keys',
      `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=n`,
      '/readyz',
    ])
      assert.equal((await read(path)).status, 200, path)
  }
  const [count = 0] = await refused('keyrail_database_refusals_total{reason="read_only"}')
  assert.ok(count >= 3, String(count))
  await set('off')
  await until(async () => (await create()) === 201)
})
