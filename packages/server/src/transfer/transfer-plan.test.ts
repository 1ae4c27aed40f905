import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { makeProject, makeVendor } from '../../test/vendor.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { readExportPage } from './export-sql.ts'
import { countKeysOf, findKeysByDigest, findTaken, findTenants, holdTenants } from './import-sql.ts'

/** Keys of one workspace, nearly all of one project, ten for each tenant. */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId } = vendor
const small = await makeProject(harness, vendor)
const keys = 60_000
const tenants = keys / 10
const uuid = (n: string) => `(lpad(to_hex(${n}), 12, '0') || '7000800000000000' || '0000')::uuid`
await query(
  `insert into tenants (workspace_id, id, external_id, meta, created_at, updated_at)
   select $1, ${uuid('n')}, 'customer-' || n, '{}', now(), now() from generate_series(1, $2::int) n`,
  [workspaceId, tenants],
)
await query(
  `with made as (
     insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at, updated_at)
     select $1, ${uuid('n')}, case when n % 1000 = 7 then $3 else $2 end::uuid, ${uuid('1 + n % $5')}, 'live', 'Key',
       'kr_live_abcd', sha256(n::text::bytea), now(), now()
     from generate_series(1, $4::int) n
     returning id, lookup_hash)
   insert into credentials (digest, kind, workspace_id, id) select lookup_hash, 'api_key', $1, id from made`,
  [workspaceId, projectId, small.id, keys, tenants],
)

const digest = (text: string) => createHash('sha256').update(text).digest()
/** Of one call: half of them new. */
const rows = 200
const digests = Array.from({ length: rows }, (_, n) => digest(n % 2 ? String(1 + n * 250) : `new ${n}`))
const tenantIds = Array.from({ length: rows }, (_, n) => {
  const hex = (1 + n * 25).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
})
const externalIds = Array.from({ length: rows }, (_, n) => `customer-${2 + n * 25}`)

const place = { project_id: projectId, env: 'live' } as const

/** What a statement reads, the table, and the most rows of it, each counted twice where a bitmap finds it. */
const reads: Record<string, [table: string, most: number, read: (tx: Tx) => Promise<unknown>]> = {
  'the tenants of an import': ['tenants', 4 * rows, tx => findTenants(tx, tenantIds, externalIds)],
  'the tenants that an import holds': ['tenants', 2 * rows, tx => holdTenants(tx, tenantIds)],
  'keys by their digests': ['api_keys', rows, tx => findKeysByDigest(tx, digests)],
  'digests that are taken': ['credentials', rows, tx => findTaken(tx, digests)],
  'how many keys the tenants of an import have': [
    'api_keys',
    10 * rows,
    tx => countKeysOf(tx, tenantIds, place, { few: 9_000, active: 10_000, ended: 100_500 }),
  ],
  'the exact numbers of active and ended keys': [
    'api_keys',
    5 * 10 * rows,
    tx => countKeysOf(tx, tenantIds, place, { few: 0, active: 10_000, ended: 100_500 }),
  ],
  ...Object.fromEntries(
    [null, projectId, small.id].flatMap(project =>
      ['00000000-0000-0000-0000-000000000000', '00000000-7530-7000-8000-000000000000'].map(after => [
        `a page of an export of ${project === null ? 'all projects' : project === small.id ? 'a project with few keys' : 'a project'} behind ${after.slice(0, 13)}`,
        // A page looks at 2,000 keys, by an index and in the table, and reads each again.
        [
          'api_keys',
          3 * 2_000 + 100,
          tx => readExportPage(tx, after, { projectId: project, env: null }, { rows: 100, bytes: 1_000_000 }),
        ],
      ]),
    ),
  ),
}

for (const state of ['before statistics', 'with statistics'])
  for (const [what, [table, most, read]] of Object.entries(reads))
    test(`${what}: no row more than needed, ${state}`, async () => {
      if (state === 'with statistics') await query(`analyze ${table}`)
      // More often than Postgres plans each time, so that the plan that it keeps is tested too.
      for (let time = 0; time < 8; time++) {
        const found = await harness.db.inWorkspace(workspaceId, tx => rowsRead(tx, table, () => read(tx)))
        assert.ok(found <= most, `${found} rows, time ${time}`)
        assert.ok(found > 0 || table === 'api_keys', `${found} rows`)
      }
    })
