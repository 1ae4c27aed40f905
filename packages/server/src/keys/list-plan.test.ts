import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { makeProject, makeTenant, makeVendor } from '../../test/vendor.ts'
import { findProjectsOfTenant } from './end-sql.ts'
import { countActiveKeys, type KeyFilter, listKeys } from './sql.ts'

/**
 * Keys of one workspace, nearly all revoked and of one project, one tenant and one name. What a list looks for is far behind
 * them in the order of the ids, or far before.
 */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId, tenantId } = vendor
const small = await makeProject(harness, vendor)
const other = await makeTenant(harness, vendor)
const keys = 60_000
const few = 10

async function fill(): Promise<void> {
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, revoked_at,
       created_at, updated_at)
     select $1, (lpad(to_hex(n), 12, '0') || '7' || substr(hex, 1, 3) || '8' || substr(hex, 4, 15))::uuid,
       case when is_end and n % 2 = 0 then $4 else $2 end::uuid, case when is_end and n % 2 = 0 then $5 else $3 end::uuid,
       'live', case when is_end then 'Rare' else 'Key' end, 'kr_live_abcd', sha256(n::text::bytea),
       case when not is_end then now() end, now(), now()
     from generate_series(1, $6::int) n cross join lateral (
       select n <= $7::int or n > $6::int - $7::int as is_end, md5(n::text) as hex) e`,
    [workspaceId, projectId, tenantId, small.id, other.id, keys, few],
  )
}

const nothing: KeyFilter = {
  envs: ['live', 'test'],
  projectIds: null,
  projectId: null,
  tenantId: null,
  name: null,
  includeRevoked: false,
  before: null,
  limit: 50,
}
const filters: Partial<KeyFilter>[] = [
  { projectId },
  { tenantId },
  { projectId: small.id },
  { tenantId: other.id },
  { projectId: randomUUID() },
  { tenantId: randomUUID() },
  { name: 'Rare' },
  { name: 'Key' },
  { name: 'Other' },
  { includeRevoked: true },
  { includeRevoked: true, projectId },
  { includeRevoked: true, tenantId },
  { includeRevoked: true, projectId: small.id },
  { includeRevoked: true, tenantId: other.id },
  { includeRevoked: true, name: 'Rare' },
  { includeRevoked: true, name: 'Key' },
  { includeRevoked: true, name: 'Key', envs: ['live'] },
  { includeRevoked: true, name: 'Rare', projectId: small.id },
]

test('every list of keys reads a page of rows, however many keys are revoked', async () => {
  await fill()
  await query('analyze api_keys')
  const [middle] = await query(
    'select id from api_keys where workspace_id = $1 order by id offset $2 limit 1',
    [workspaceId, keys / 2],
  )
  for (const filter of filters)
    for (const before of [null, middle.id]) {
      const asked = { ...nothing, ...filter, before }
      // More often than Postgres plans each time, so that the plan that it keeps is tested too.
      for (let i = 0; i < 8; i++) {
        const read = await harness.db.inWorkspace(workspaceId, tx =>
          rowsRead(tx, 'api_keys', () => listKeys(tx, asked)),
        )
        // One page for each environment, revoked and not; a row that a bitmap finds counts twice.
        assert.ok(
          read <= 2 * 4 * (nothing.limit + 1),
          `${JSON.stringify({ ...filter, before })} read ${read}`,
        )
      }
    }
})

test('a list has each key once and newest first, revoked ones among the others', async () => {
  for (const filter of filters) {
    const asked = { ...nothing, ...filter, limit: 30 }
    const { rows } = await harness.db.inWorkspace(workspaceId, tx => listKeys(tx, asked))
    const expected = await query(
      `select id from api_keys where workspace_id = $1 and ($2::uuid is null or project_id = $2)
         and ($3::uuid is null or tenant_id = $3) and ($4::text is null or name = $4) and ($5 or revoked_at is null)
       order by id desc limit 31`,
      [workspaceId, asked.projectId, asked.tenantId, asked.name, asked.includeRevoked],
    )
    assert.deepEqual(
      rows.map(({ id }) => id),
      expected.map(({ id }) => id),
      JSON.stringify(filter),
    )
  }
})

test('what counts the active keys of a tenant reads none that is revoked', async () => {
  const place = { tenant_id: tenantId, project_id: projectId, env: 'live' } as const
  const read = await harness.db.inWorkspace(workspaceId, tx =>
    rowsRead(tx, 'api_keys', async () => {
      assert.equal(await countActiveKeys(tx, place, 10_000), few)
      assert.deepEqual(await findProjectsOfTenant(tx, tenantId), [projectId])
    }),
  )
  assert.ok(read <= 2 * 2 * few, `${read} rows`)
})
