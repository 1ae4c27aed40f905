import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { askFeed } from '../../../../test/feed.ts'
import { startHarness } from '../../../../test/harness.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { floorSql, versionSql } from './raised.ts'
import { connectPrimary, versionsRaisedBy } from './timeline.ts'

/** A failover, as the next connection finds it; policy heads are then behind the level of the store. */

const harness = await startHarness()
const { query, ask } = harness
const get = askFeed(harness)
const vendor = await makeVendor(harness)
await issueKey(harness, vendor)

const effective = `select ${versionSql('h')} as version, ${floorSql('h')} as floor from policy_heads h where project_id = $1`
const head = async (id = vendor.projectId): Promise<{ version: number; floor: number }> =>
  (await query(effective, [id]))[0]
/** As the release before reads it. */
const written = async (): Promise<{ version: number; floor: number }> =>
  (await query('select version, floor from policy_heads where project_id = $1', [vendor.projectId]))[0]
const failOver = async () => {
  await query(`update store_levels set timeline = '00000000'`)
  await (await connectPrimary(harness.connection, 'test')).end()
}

beforeEach(failOver)

test('a failover writes no policy head, however many there are', async () => {
  await query(
    `with made as (
       insert into projects (workspace_id, id, name, slug, default_rate_limits, created_at, updated_at)
       select $1, gen_random_uuid(), 'P', 'many-' || n, '[]', now(), now() from generate_series(1, 1000) n returning workspace_id, id)
     insert into policy_heads (workspace_id, project_id) select workspace_id, id from made`,
    [vendor.workspaceId],
  )
  const places = 'select ctid::text, xmin::text, project_id from policy_heads order by project_id'
  const before = await query(places)
  const versions = `select min(${versionSql('h')})::float8 as lowest from policy_heads h`
  const [{ lowest }] = await query(versions)
  await failOver()
  assert.deepEqual(await query(places), before)
  const [{ lowest: raised }] = await query(versions)
  assert.ok(raised >= lowest + versionsRaisedBy, `${lowest} ${raised}`)
})

test('a change after a failover is one delta above the raised version', async () => {
  const { version } = await head()
  assert.ok((await written()).version < version)
  const key = await issueKey(harness, vendor)
  assert.deepEqual(await head(), { version: version + 1, floor: version })
  assert.deepEqual(await written(), await head())
  const { body } = await get(vendor, 'delta', `&since=${version}`)
  assert.deepEqual([body.object, body.version], ['policy_delta', version + 1])
  assert.deepEqual(
    body.changes.map((change: { key_id: string }) => change.key_id),
    [key.id],
  )
})

test('a raise of the floor, and a pruning, catch up as well', async () => {
  const { version } = await head()
  const body = { default_rate_limits: [] }
  const limits = [{ id: 'a', limit: 1, window_ms: 1000, algorithm: 'fixed', scope: 'key' }]
  for (const default_rate_limits of [limits, body.default_rate_limits]) {
    const path = `/v1/projects/${vendor.projectId}`
    const { status } = await ask('PATCH', path, { token: vendor.live, body: { default_rate_limits } })
    assert.equal(status, 200)
  }
  assert.deepEqual(await head(), { version: version + 2, floor: version + 2 })
  await failOver()
  const raised = await head()
  await query('update policy_heads set floor = version')
  assert.deepEqual(await written(), { version: raised.version, floor: raised.version })
})

test('the project is shown with its raised version, and a new one begins at 1', async () => {
  const { version } = await head()
  const { body } = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.equal(body.policy_version, version)
  const made = await ask('POST', '/v1/projects', { token: vendor.live, body: { name: 'New', slug: 'new' } })
  assert.deepEqual([made.status, made.body.policy_version], [201, 1])
  assert.deepEqual(await head(made.body.id), { version: 1, floor: 1 })
})

test('raises that a head lacks add up', async () => {
  await query('update policy_heads set version = 2 ^ 48')
  const { version } = await head()
  await failOver()
  await failOver()
  assert.deepEqual(await head(), {
    version: version + 2 * versionsRaisedBy,
    floor: version + 2 * versionsRaisedBy,
  })
})

test('a change that was not committed before a failover rises with it', async () => {
  await issueKey(harness, vendor)
  const { version } = await head()
  const other = await connectPrimary(harness.connection, 'test')
  await other.query('begin; update policy_heads set version = version + 1')
  await query(`select raise_store(${versionsRaisedBy}, true)`)
  await other.query('commit')
  await other.end()
  assert.ok((await head()).version >= version + 1 + versionsRaisedBy)
})

test('the release before raises all heads itself before it reads them', async () => {
  const { version } = await head()
  const [before] = await query('select store_state() as state, store_is_same() as same')
  assert.deepEqual(before, { state: 'new', same: false })
  await query(`select adopt_store(${versionsRaisedBy}, false)`)
  const raised = await written()
  assert.ok(raised.version >= version + versionsRaisedBy, `${raised.version} ${version}`)
  assert.deepEqual(raised, await head())
  assert.equal(raised.floor, raised.version)
  assert.equal((await query('select store_level_state() as state'))[0].state, 'same')
})
