import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { makeProject, makeTenant, makeVendor } from '../../test/vendor.ts'
import { countStatement, type KeyChoice, walkStatement } from './filter-sql.ts'

/**
 * Keys of one workspace, nearly all of one project and one tenant, of which a tenth is revoked. Few are paused, unused, of another
 * project, tenant or name.
 */
const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId, tenantId } = vendor
const [small, other] = [await makeProject(harness, vendor), await makeTenant(harness, vendor)]
const keys = 60_000
const few = 60
await query(
  `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, revoked_at,
     disabled_at, disabled_by, last_used_at, idle_since, created_at, updated_at)
   select $1, (lpad(to_hex(n), 12, '0') || '7' || substr(hex, 1, 3) || '8' || substr(hex, 4, 15))::uuid,
     case when is_rare then $4 else $2 end::uuid, case when is_rare then $5 else $3 end::uuid,
     'live', case when is_rare then 'Rare' else 'Key' end, 'kr_live_abcd', sha256(n::text::bytea),
     case when n % 10 = 3 then now() end, case when is_rare or n % 10 = 3 then now() end,
     case when is_rare or n % 10 = 3 then 'vendor' end, now(), now() - case when is_rare then interval '1 year' else '0' end,
     now(), now()
   from generate_series(1, $6::int) n cross join lateral (select n % 1000 = 7 as is_rare, md5(n::text) as hex) e`,
  [workspaceId, projectId, tenantId, small.id, other.id, keys],
)
await query('analyze api_keys')
const work = await openStatementWork(harness)

const all: KeyChoice = { action: 'revoke', filter: {}, envs: ['live', 'test'], projectIds: null, until: null }
const long = new Date(Date.now() - 100 * 86_400_000).toISOString()
const now = new Date(Date.now() + 60_000).toISOString()

const asText = (values: readonly unknown[]) =>
  values.map(value => (value instanceof Date ? value.toISOString() : value))

const counts: Record<string, [choice: Partial<KeyChoice>, index: RegExp, most: number]> = {
  'of a tenant with few keys': [{ filter: { tenant_id: other.id } }, /of_tenant/, few],
  'of a project with few keys': [{ filter: { project_id: small.id } }, /in_project/, few],
  'of a key that is limited to such a project': [
    { filter: { env: 'live' }, projectIds: [small.id] },
    /in_project/,
    few,
  ],
  'of a name that few have': [{ filter: { name: 'Rare' } }, /by_name_folded/, few],
  'of paused keys': [{ action: 'enable', filter: { env: 'live' } }, /paused/, few],
  'of keys that nobody has used for long': [{ filter: { unused_since: long } }, /by_idleness/, few],
  'of an environment without keys': [{ filter: { env: 'test' } }, /by_/, 0],
}
for (const [what, [choice, index, most]] of Object.entries(counts)) {
  test(`a count ${what} reads these alone`, async () => {
    const { statement, values } = countStatement(workspaceId, { ...all, ...choice })
    const { rows, indexes, plan } = await work(workspaceId, 'custom', statement, asText(values))
    assert.ok(rows <= most, `${rows} rows\n${plan}`)
    assert.match(indexes.join(), index, plan)
  })
}

/** A walk looks at no more keys than its step, however few match. */
const step = 2_000
const middle = '00000000-7530-7000-8000-000000000000'
const walks: Record<string, [choice: Partial<KeyChoice>, most: number]> = {
  'all keys': [{ filter: { env: 'live' } }, step],
  'keys that nobody has used for long': [{ filter: { unused_since: long } }, step],
  'keys that were created before': [{ filter: { created_before: now } }, step],
  'the large project': [{ filter: { project_id: projectId } }, step],
  'the projects of a limited key': [
    { filter: { env: 'live' }, projectIds: [projectId, small.id] },
    step + few,
  ],
  'the large tenant': [{ filter: { tenant_id: tenantId } }, step],
  'a name that nearly all have': [{ filter: { name: 'Key' } }, step + few],
  'a name that few have': [{ filter: { name: 'Rare' } }, few],
  'paused keys': [{ action: 'enable', filter: { env: 'live' } }, few],
  'a project with few keys': [{ filter: { project_id: small.id } }, few],
}
for (const [what, [choice, most]] of Object.entries(walks)) {
  for (const after of [null, middle]) {
    test(`a batch of ${what}, ${after === null ? 'first' : 'later'}, looks at ${most} keys`, async () => {
      const { statement, values } = walkStatement(workspaceId, { ...all, ...choice }, after, 200)
      const { rows, indexes, plan } = await work(workspaceId, 'custom', statement, asText(values))
      assert.ok(rows <= most, `${rows} rows\n${plan}`)
      assert.ok(indexes.length > 0, plan)
    })
  }
}
