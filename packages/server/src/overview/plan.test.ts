import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { readFleet, readKeys } from './sql.ts'

const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId, tenantId } = vendor

test('figures of keys read the rows that they count, however many others there are', async () => {
  for (let i = 0; i < 3; i++) await issueKey(harness, vendor, { expires_at: '2999-01-01T00:00:00Z' })
  await issueKey(harness, vendor)
  // Keys of test, revoked ones, and expired ones that were used: none of them counts.
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, expires_at, revoked_at,
       last_used_at, created_at, updated_at)
     select $1, gen_random_uuid(), $2, $3, case n % 3 when 0 then 'test' else 'live' end, 'kr_live_abcd',
       sha256(n::text::bytea), case n % 3 when 1 then now() - interval '1 day' when 0 then now() + interval '5 days' end,
       case n % 3 when 2 then now() end, now(), now(), now()
     from generate_series(1, 30000) n`,
    [workspaceId, projectId, tenantId],
  )
  for (const state of ['before statistics', 'with statistics']) {
    // More often than Postgres plans each time, so that the plan that it keeps is tested too.
    for (let i = 0; i < 8; i++) {
      const read = await harness.db.inWorkspace(workspaceId, tx =>
        rowsRead(tx, 'api_keys', () => readKeys(tx, 'live')),
      )
      assert.ok(read >= 4 && read <= 40, `${state} read ${read}`)
    }
    await query('vacuum analyze api_keys')
  }
})

test('figures of nodes read those of the workspace alone', async () => {
  await query(
    `insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
     select case when n <= 5 then $1 else gen_random_uuid() end, $2, 'both', 'n' || n, 0, service_now()
     from generate_series(1, 5000) n`,
    [workspaceId, projectId],
  )
  for (const state of ['before statistics', 'with statistics']) {
    for (let i = 0; i < 8; i++) {
      const read = await harness.db.inWorkspace(workspaceId, tx =>
        rowsRead(tx, 'policy_nodes', () => readFleet(tx, 'live')),
      )
      assert.ok(read >= 5 && read <= 10, `${state} read ${read}`)
    }
    await query('vacuum analyze policy_nodes')
  }
})
