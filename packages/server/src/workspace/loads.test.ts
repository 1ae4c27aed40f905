import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { rankByLoad, rankByRows } from './ranking.ts'
import { pruneWorkspaceLoads } from './room.ts'

const harness = await startHarness()
const { query, ask } = harness
const { workspaceLoads, connection, log } = harness.deps
const [busy, quiet] = [await makeVendor(harness), await makeVendor(harness)]
const client = new pg.Client(harness.connection)
// The database is dropped before it ends.
client.on('error', () => {})
await client.connect()
after(() => client.end())
const idsOf = (ranked: readonly { id: string }[]) => ranked.map(({ id }) => id)

const rowsOf = (workspaceId: string) =>
  query(
    `select requests::int, connection_ms::int, hour = date_trunc('hour', service_now(), 'UTC') as now
     from workspace_loads where workspace_id = $1`,
    [workspaceId],
  )

test('requests of a workspace are written, refused ones and those with a session too', async () => {
  await workspaceLoads.flush()
  await query('delete from workspace_loads')
  for (let at = 0; at < 3; at++) await ask('GET', '/v1/workspace', { token: busy.live })
  assert.equal((await ask('DELETE', '/v1/workspace/nothing', { token: busy.live })).status, 404)
  assert.equal((await ask('POST', '/v1/workspaces', { token: busy.test, body: {} })).status, 403)
  await ask('GET', '/v1/workspace', { token: quiet.live })
  await ask('GET', '/v1/workspace', { token: 'krsk_live_unknown' })
  await workspaceLoads.flush()
  const [[most], [least]] = [await rowsOf(busy.workspaceId), await rowsOf(quiet.workspaceId)]
  assert.deepEqual([most.requests, most.now, least.requests], [4, true, 1])
  assert.deepEqual(idsOf(await rankByLoad(client, 'requests', 2)), [busy.workspaceId, quiet.workspaceId])
  assert.deepEqual(idsOf(await rankByLoad(client, 'requests', 1)), [busy.workspaceId])
})

test('a transaction that waits for a lock counts as long as it holds its connection', async () => {
  await client.query('begin')
  await client.query('select from audit_heads where workspace_id = $1 for update', [quiet.workspaceId])
  const waiting = ask('POST', '/v1/tenants', { token: quiet.live, body: { external_id: 'org_late' } })
  await until(async () => {
    const [row] = await query(
      `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'`,
    )
    return row.n > 0
  })
  const { rows } = await client.query('select pg_sleep(0.3)')
  assert.equal(rows.length, 1)
  await client.query('rollback')
  assert.equal((await waiting).status, 201)
  await workspaceLoads.flush()
  const [row] = await rowsOf(quiet.workspaceId)
  assert.ok(row.connection_ms >= 300, String(row.connection_ms))
  assert.equal((await rankByLoad(client, 'connections', 1))[0]?.id, quiet.workspaceId)
})

test('by rows the workspace with most comes first, with its largest table', async () => {
  for (let at = 0; at < 30; at++)
    await ask('POST', '/v1/tenants', { token: quiet.live, body: { external_id: `org_${at}` } })
  const [first, second] = await rankByRows(client, 2)
  assert.deepEqual([first?.id, second?.id], [quiet.workspaceId, busy.workspaceId])
  assert.equal(first?.largest.rows, await countOf(first?.largest.table ?? ''))
  assert.ok((first?.rows ?? 0) > (first?.largest.rows ?? 0))
})

const countOf = async (table: string): Promise<number> =>
  (await query(`select count(*)::int as n from ${table} where workspace_id = $1`, [quiet.workspaceId]))[0].n

test('hours that are over are left out after a day, and deleted after two', async () => {
  await query(`update workspace_loads set hour = hour - interval '25 hours' where workspace_id = $1`, [
    quiet.workspaceId,
  ])
  const ranked = await rankByLoad(client, 'connections', 10)
  assert.equal(ranked.find(({ id }) => id === quiet.workspaceId)?.connectionMs, 0)
  await doChores(connection, [pruneWorkspaceLoads], log)
  assert.equal((await rowsOf(quiet.workspaceId)).length, 1)
  await query(`update workspace_loads set hour = hour - interval '24 hours' where workspace_id = $1`, [
    quiet.workspaceId,
  ])
  await doChores(connection, [pruneWorkspaceLoads], log)
  assert.equal((await rowsOf(quiet.workspaceId)).length, 0)
  assert.equal((await rowsOf(busy.workspaceId)).length, 1)
})

test('a workspace that is removed meanwhile gets no row, and its neighbours get theirs', async () => {
  const gone = '01890000-0000-7000-8000-000000000000'
  await query('delete from workspace_loads')
  workspaceLoads.countRequest(gone)
  workspaceLoads.countRequest(busy.workspaceId)
  await workspaceLoads.flush()
  assert.equal((await rowsOf(gone)).length, 0)
  assert.equal((await rowsOf(busy.workspaceId))[0].requests, 1)
})
