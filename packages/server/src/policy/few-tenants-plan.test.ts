import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { writtenColumns } from '../../test/written-columns.ts'
import type { Statement } from '../platform/db/connection.ts'
import { hasNetworksSql, isOfSuspendedSql } from './cause.ts'

const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId } = vendor
const key = await issueKey(harness, vendor)
const work = await openStatementWork(harness)

// 600 of 20,000 tenants have two keys each, of which some changed in the log. Three are suspended and three have networks; 60 were
// suspended or had networks, and are deleted.
await query(
  `insert into tenants (workspace_id, id, external_id, created_at, updated_at, suspended_at, deleted_at, allowed_cidrs)
   select $1, gen_random_uuid(), case when n <= 600 then 'org ' else 'more ' end || n, now(), now(), case when n <= 63 then now() end,
     case when n between 4 and 63 then now() end, case when n between 4 and 66 then '{10.0.0.0/8}' else '{}' end::text[] from generate_series(1, 20000) n`,
  [workspaceId],
)
const columns = await writtenColumns(query, 'api_keys')
await query(
  `insert into api_keys (${columns}) select ${columns} from (
     select (jsonb_populate_record(k, jsonb_build_object('id', gen_random_uuid(), 'tenant_id', t.id,
       'lookup_hash', '\\x' || encode(sha256((t.id::text || n)::bytea), 'hex')))).*
     from api_keys k, tenants t, generate_series(1, 2) n where k.id = $1 and t.external_id like 'org %') copies`,
  [key.id],
)
await query(
  `insert into policy_changes (workspace_id, project_id, version, key_id, changed_at)
   select $1, $2, 10 + row_number() over (order by id), id, now() from api_keys where workspace_id = $1 order by id limit 300`,
  [workspaceId, projectId],
)
await query('update policy_heads set version = 5000 where project_id = $1', [projectId])
await query('analyze api_keys, tenants, policy_changes, policy_tenants, policy_heads')

const start = '00000000-0000-0000-0000-000000000000'
const page = [workspaceId, projectId, start, ['live', 'test'], 5_000, 4_194_304]
const delta = [workspaceId, projectId, 10, ['live', 'test'], null, 5_000, 4_194_304]
const { snapshotPage, changes } = harness.deps.policy.statements
/** The statement as it would be if no tenant could be suspended or have networks. */
const plainly = (statement: Statement): Statement => ({
  ...statement,
  text: statement.text.replaceAll(isOfSuspendedSql, 'false').replaceAll(hasNetworksSql, 'false'),
})
/** What a statement may read more than that: the six tenants, wherever it asks for them. */
const moreMost = 48

for (const mode of ['custom', 'generic'] as const) {
  test(`a ${mode} plan for a node of either sort reads the tenants it asks for and no further row`, async () => {
    const unknowing = snapshotPage([], false)
    for (const [what, statement, without, values] of [
      ['a page', unknowing, plainly(unknowing), page],
      ['a page for a node that knows', snapshotPage(['suspended'], false), plainly(unknowing), page],
      ['a page for a node that knows networks', snapshotPage(['cidr'], false), plainly(unknowing), page],
      [
        'a page for a node that knows both',
        snapshotPage(['cidr', 'suspended'], false),
        plainly(unknowing),
        page,
      ],
      ['a delta', changes([]), plainly(changes([])), delta],
    ] as const) {
      const { rows: fewest } = await work(workspaceId, mode, without, values)
      const { rows } = await work(workspaceId, mode, statement, values)
      assert.ok(fewest > 300 && rows <= fewest + moreMost, `${what}: ${rows} rows, ${fewest} without`)
    }
  })
}
