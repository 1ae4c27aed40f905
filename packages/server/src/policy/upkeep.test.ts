import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { connect } from '../platform/db/connection.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneChanges, pruneNodes } from './upkeep.ts'

const harness = await startHarness()
const { ask, query, deps, connection } = harness
const upkeep = () => doChores(connection, [pruneChanges, pruneNodes], deps.log)

const changesOf = async (projectId: string) =>
  (
    await query(
      `select count(*)::int as kept, min(version) as oldest, (select floor from policy_heads where project_id = $1)
       from policy_changes where project_id = $1`,
      [projectId],
    )
  )[0]
const age = (projectId: string, version: number, days: number) =>
  query(
    `update policy_changes set changed_at = service_now() - make_interval(days => $3)
     where project_id = $1 and version <= $2`,
    [projectId, version, days],
  )
const outcome = async (vendor: Awaited<ReturnType<typeof makeVendor>>, since: number) =>
  (
    await ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}`, {
      token: vendor.live,
    })
  ).body.object

test('changes older than 7 days are pruned, and a poll from before them gets a snapshot', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 6; i++) await issueKey(harness, vendor)
  await age(vendor.projectId, 4, 8)
  await upkeep()
  assert.deepEqual(await changesOf(vendor.projectId), { kept: 3, oldest: 5, floor: 4 })
  assert.deepEqual([await outcome(vendor, 3), await outcome(vendor, 4)], ['policy_snapshot', 'policy_delta'])
  await upkeep()
  assert.deepEqual(await changesOf(vendor.projectId), { kept: 3, oldest: 5, floor: 4 })
})

test('at most 100,000 changes are kept for each of many projects', async () => {
  const vendors = [await makeVendor(harness), await makeVendor(harness)]
  for (const vendor of vendors) {
    const { id } = await issueKey(harness, vendor)
    await query(
      `insert into policy_changes (workspace_id, project_id, version, key_id)
       select $1, $2, v, $3 from generate_series(3, 100012) v`,
      [vendor.workspaceId, vendor.projectId, id],
    )
    await query('update policy_heads set version = 100012 where project_id = $1', [vendor.projectId])
  }
  await query(
    `with made as (insert into projects (workspace_id, id, name, slug, created_at, updated_at)
       select $1, gen_random_uuid(), 'n', 'many-' || i, now(), now() from generate_series(1, 250) i
       returning workspace_id, id)
     insert into policy_heads (workspace_id, project_id) select workspace_id, id from made`,
    [vendors[0]?.workspaceId],
  )
  await upkeep()
  for (const vendor of vendors) {
    assert.deepEqual(await changesOf(vendor.projectId), { kept: 100_000, oldest: 13, floor: 12 })
    assert.equal(await outcome(vendor, 100_011), 'policy_delta')
  }
})

test('nodes that were silent for a day are deleted', async () => {
  const vendor = await makeVendor(harness)
  for (const node of ['a', 'b'])
    await ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=${node}`, {
      token: vendor.live,
    })
  await query(
    `update policy_nodes set seen_at = service_now() - interval '25 hours' where workspace_id = $1 and node = 'a'`,
    [vendor.workspaceId],
  )
  await upkeep()
  const rows = await query('select node from policy_nodes where workspace_id = $1', [vendor.workspaceId])
  assert.deepEqual(rows, [{ node: 'b' }])
})

test('one process at a time does the chores', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 2; i++) await issueKey(harness, vendor)
  await age(vendor.projectId, 3, 8)
  const other = await connect(connection, 'other', false)
  after(() => other.end())
  await other.query(`select pg_advisory_lock(hashtextextended('keyrail.upkeep', 0))`)
  await upkeep()
  assert.equal((await changesOf(vendor.projectId)).kept, 2)
  await other.query('select pg_advisory_unlock_all()')
  await upkeep()
  assert.equal((await changesOf(vendor.projectId)).kept, 0)
})
