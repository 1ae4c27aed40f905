import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { askFeed } from '../../../../test/feed.ts'
import { startHarness } from '../../../../test/harness.ts'
import { serviceFiles } from '../../../../test/source-files.ts'
import { until } from '../../../../test/until.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { floorSql, versionSql } from './raised.ts'
import { connectPrimary, versionsRaisedBy } from './timeline.ts'

/** These tests change the stored timeline, as if the connections led to another server than before. */

const harness = await startHarness()
const { query, connection } = harness
const get = askFeed(harness)
const vendor = await makeVendor(harness)
await issueKey(harness, vendor)
// Far above the clock's, versions rise by steps alone, which can be counted.
await query('update policy_heads set version = 2 ^ 48')

const head = async (): Promise<{ version: number; floor: number }> => {
  const [row] = await query(
    `select ${versionSql('h')} as version, ${floorSql('h')} as floor from policy_heads h where workspace_id = $1`,
    [vendor.workspaceId],
  )
  return row
}
const open = async () => (await connectPrimary(connection, 'test')).end()
const [{ timeline: ours }] = await query('select store_wal_timeline() as timeline')
/** As if no raise had been, in a transaction. */
const neverRaised = `begin; update store_levels set raised_by = 0, lowest = 0;
  update policy_heads set version = 7, floor = 1, raised_by = 0`
const steps = (count: number) => count * versionsRaisedBy

beforeEach(open)

/** How far the versions rise when connections are opened after this statement. */
async function raisedAfter(statement: string, connections = 1): Promise<number> {
  const before = await head()
  await query(statement)
  await Promise.all(Array.from({ length: connections }, open))
  const { version, floor } = await head()
  const raised = version - before.version
  if (raised > 0) assert.equal(floor, version)
  return raised
}

test('a database with a known timeline is not changed by any number of connections', async () => {
  assert.equal(await raisedAfter('select 1', 20), 0)
})

test('many connections that find a new timeline at once raise every version once', async () => {
  assert.equal(await raisedAfter(`update store_levels set timeline = '00000000'`, 20), steps(1))
  assert.equal(await raisedAfter('select 1', 20), 0)
  const [row] = await query('select timeline, raised_at from store_levels')
  assert.equal(row.timeline, ours)
  assert.ok(row.raised_at instanceof Date)
})

test('an earlier timeline, another cluster or database, and an unknown one are new as well', async () => {
  assert.equal(await raisedAfter(`update store_levels set timeline = '0000FFFF'`), steps(1))
  assert.equal(await raisedAfter(`update store_levels set system_id = '1'`), steps(1))
  assert.equal(await raisedAfter('update store_levels set database_id = 1'), steps(1))
  // Without a stored level only the heads say which one they have.
  await query('update policy_heads set version = version')
  assert.equal(await raisedAfter('delete from store_levels'), steps(1))
})

test('after a promotion, connections to the old primary are cut, and none opens to it again', async () => {
  const own = await startHarness()
  /** What the server says from now on, as if another one answered at its address. */
  const become = (timeline: string) =>
    own.query(
      `create or replace function store_wal_timeline() returns text language sql as 'select ''${timeline}'''`,
    )
  const toOld = await connectPrimary(own.connection, 'test')
  const isCut = new Promise(resolve => toOld.once('end', resolve).once('error', () => {}))
  await become('0000FFFE')
  const toNew = await connectPrimary(own.connection, 'test')
  await isCut
  await become('0000FFFD')
  await own.query(`update store_levels set timeline = '0000FFFD'`)
  await assert.rejects(() => connectPrimary(own.connection, 'test'), {
    code: '57P03',
    message: /promoted after/,
  })
  assert.equal((await toNew.query('select 1')).rowCount, 1)
  await become('0000FFFE')
  await own.query(`update store_levels set timeline = '0000FFFE'`)
  await (await connectPrimary(own.connection, 'test')).end()
  await toNew.end()
})

test('skipped timelines count too: their server may have raised the versions itself', async () => {
  // The one before the first is unknown; as if three servers had come since.
  const [{ system_id, database_id }] = await query('select system_id, database_id::text from store_levels')
  await query('begin')
  await query(
    `create or replace function store_wal_timeline() returns text language sql as $$ select '0000001A' $$`,
  )
  await query(
    `update store_levels set timeline = '00000017', system_id = '${system_id}', database_id = ${database_id}`,
  )
  const [{ raised }] = await query(`select raise_store(${versionsRaisedBy}, false) as raised`)
  const [{ raised: restored }] = await query(`select raise_store(${versionsRaisedBy}, true) as raised`)
  await query('rollback')
  assert.deepEqual([raised, restored], [steps(3), steps(1)])
})

test('versions below the clock’s rise to it: two histories that began at one version differ', async () => {
  await query(`${neverRaised}; savepoint start`)
  const raise = async () => {
    const [{ clock }] = await query('select extract(epoch from service_now()) * 16000 as clock')
    await query(`select raise_store(${versionsRaisedBy}, true)`)
    const { version, floor } = await head()
    assert.equal(floor, version)
    assert.ok(version >= Number(clock), `${version} ${clock}`)
    return version
  }
  const first = await raise()
  await query('rollback to start')
  await query('select pg_sleep(0.002)')
  const second = await raise()
  await query('rollback')
  assert.ok(second > first, `${first} ${second}`)
})

test('a clock of the year 9999 raises no version beyond what a node can ask for', async () => {
  await query(neverRaised)
  await query(
    `create or replace function service_now() returns timestamptz language sql as $$ select timestamptz '9999-12-31' $$`,
  )
  await query(`select raise_store(${versionsRaisedBy}, true)`)
  const { version } = await head()
  await query('rollback')
  assert.ok(version > steps(1))
  assert.equal((await get(vendor, 'delta', `&since=${version + steps(1000)}`)).status, 200)
})

test('a connection that waits for another’s raise is served only after its commit', async () => {
  await query(`update store_levels set timeline = '00000000'`)
  await query('begin')
  await query(`select raise_store(${versionsRaisedBy}, false)`)
  const before = await head()
  let isOpen = false
  const opening = open().then(() => {
    isOpen = true
  })
  const waits = `select from pg_locks where locktype = 'advisory' and not granted`
  await until(async () => (await query(waits)).length > 0)
  assert.equal(isOpen, false)
  await query('commit')
  await opening
  assert.deepEqual(await head(), before)
})

test('a connection whose server was replaced answers no poll from before the raise', async () => {
  const { version } = await head()
  assert.equal((await get(vendor, 'delta', `&since=${version}`)).body.object, 'policy_delta')
  await query(`update store_levels set timeline = '00000000'`)
  const { status, body } = await get(vendor, 'delta', `&since=${version}`)
  assert.deepEqual([status, body.object, body.version], [200, 'policy_snapshot', version + steps(1)])
})

test('a node recorded before a raise is recorded again, because that may be lost', async () => {
  const { version } = await head()
  await get(vendor, 'delta', `&since=${version}&node=n`)
  await query(`delete from policy_nodes; update store_levels set timeline = '00000000'`)
  await get(vendor, 'delta', `&since=${version}&node=n`)
  const noted = await query('select node, version from policy_nodes')
  assert.deepEqual(noted, [{ node: 'n', version }])
})

test('a held poll gets the whole policy soon after the versions are raised', async () => {
  const { version } = await head()
  const held = get(vendor, 'delta', `&since=${version}`, { prefer: 'wait=30' })
  await query(`update store_levels set timeline = '00000000'`)
  const { body, headers } = await held
  assert.deepEqual(
    [headers['preference-applied'], body.object, body.version],
    ['wait=30', 'policy_snapshot', version + steps(1)],
  )
})

test('the check needs no right that a user of one database lacks', async () => {
  await query('set role keyrail_app')
  const [row] = await query('select store_wal_timeline() as timeline, store_system_id() <> $1 as differs', [
    '',
  ])
  await query('reset role')
  assert.deepEqual(row, { timeline: ours, differs: true })
})

test('every connection of the service is checked, except those that use no versions', () => {
  const opening = (word: RegExp) =>
    serviceFiles()
      .filter(({ text }) => word.test(text))
      .map(({ path }) => path.slice('packages/server/src/'.length))
      .toSorted()
  assert.deepEqual(opening(/[^.\w]connect(?:AtStart)?(?: = )?\(/), [
    // A command, a CancelRequest, a backup, a restore, a search for the primary, a migration, figures, a look for a
    // pooler, a check that the server answers, a count of connections.
    'cli/database.ts',
    'cli/serve/connection-quota.ts',
    'platform/db/connection.ts',
    'platform/db/dump/session.ts',
    'platform/db/failover/hosts.ts',
    'platform/db/failover/timeline.ts',
    'platform/db/failover/watchdog.ts',
    'platform/db/migrate/lock-wait.ts',
    'platform/db/migrate/migrate.ts',
    'platform/db/pool/cancel-request.ts',
    'platform/db/roles/session-pooling.ts',
    'platform/observe/readings.ts',
  ])
  assert.deepEqual(opening(/clientConfig\(|new pg\./), [
    // The search for the newest primary.
    'platform/db/connection.ts',
    'platform/db/failover/hosts.ts',
    'platform/db/failover/newest-primary.ts',
    'platform/db/pool/cancel-request.ts',
    'platform/db/pool/pool.ts',
    'platform/jobs/worker.ts',
  ])
  assert.deepEqual(opening(/onConnect: admitTo\(connection\)/), [
    'platform/db/pool/pool.ts',
    'platform/jobs/worker.ts',
  ])
})
