import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { openTestLanes } from '../../test/stores.ts'
import { until } from '../../test/until.ts'
import { makeFleet } from '../../test/usage-fleet.ts'
import type { Tally } from './report-lane.ts'
import { openReports, type Report, type Reports } from './reports.ts'

const harness = await startHarness()
const { query } = harness
const now = new Date('2030-03-10T12:30:00.000Z')
const hour = Math.floor(now.getTime() / 3_600_000)
await harness.setStoreTime(now)

/** The lane of one process of the service. */
function openProcess(context: TestContext) {
  const lanes = openTestLanes(harness.connection)
  context.after(() => lanes.close())
  return { ...openReports(lanes), close: lanes.close }
}
/** Each round waits for a locked row for some 300 ms, so this bounds a hang and nothing else. */
const roundsMost = 400
const untilTaken = async (lane: Reports, report: Report): Promise<Tally> => {
  let tally = await lane.run(report)
  for (let rounds = 0; tally === null && rounds < roundsMost; rounds += 1) tally = await lane.run(report)
  assert.ok(tally !== null && tally !== 'absent', 'the rows of the report stay locked')
  return tally
}
async function openHolder(context: TestContext): Promise<pg.Client> {
  const holder = new pg.Client(harness.connection)
  holder.on('error', () => {})
  await holder.connect()
  context.after(() => holder.end())
  return holder
}
const reportOf = (workspaceId: string, records: Report['records']): Report => ({
  workspaceId,
  env: 'live',
  projectIds: null,
  reportId: randomUUID(),
  sampleRate: 1,
  records,
})
const one = (keyId: string, count = 1) => ({ keyId, hour, count })
const bodyOf = (keyId: string) => ({
  report_id: randomUUID(),
  sample_rate: 1,
  records: [{ key_id: keyId, hour: now.toISOString(), count: 1 }],
})
const sumOf = async (table: string, workspaceId: string): Promise<number> =>
  Number(
    (
      await query(`select coalesce(sum(requests), 0)::float8 as n from ${table} where workspace_id = $1`, [
        workspaceId,
      ])
    )[0].n,
  )
const lockWaits = async (): Promise<number> =>
  (
    await query(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and application_name = 'keyrail lanes writes'`,
    )
  )[0].n
const untilItWaits = async () => {
  await until(async () => (await lockWaits()) > 0, 'a report waits for the lock')
}

test('two processes that take the same reports at once apply each once and answer alike', async context => {
  const fleet = await makeFleet(harness)
  const keys = [await fleet.newKey(), await fleet.newKey(), await fleet.newKey()]
  const lanes = [openProcess(context), openProcess(context)]
  for (let round = 0; round < 10; round++) {
    const reports = Array.from({ length: 50 }, (_, i) =>
      reportOf(fleet.workspaceId, [
        one(keys[i % 3] ?? ''),
        one(keys[(i + 1) % 3] ?? '', 2),
        one(randomUUID()),
      ]),
    )
    const tallies = await Promise.all(
      lanes.flatMap((lane, i) =>
        (i === 0 ? reports : reports.toReversed()).flatMap(report => [
          untilTaken(lane, report),
          untilTaken(lane, { ...report, sampleRate: 0.5 }),
        ]),
      ),
    )
    for (const tally of tallies) assert.deepEqual(tally, { accepted: 2, ignored: 1 })
  }
  // Either of two reports with one id may be the first, and its rate is the one that counts.
  for (const table of ['usage_hours', 'usage_months']) {
    const sum = await sumOf(table, fleet.workspaceId)
    assert.ok(sum >= 1_500 && sum <= 3_000 && sum % 3 === 0, `${table}: ${sum}`)
  }
  assert.equal(await sumOf('usage_hours', fleet.workspaceId), await sumOf('usage_months', fleet.workspaceId))
})

test('batches of processes in opposite orders end without a deadlock, and lose nothing', async context => {
  const fleets = [await makeFleet(harness), await makeFleet(harness)]
  const keys = await Promise.all(
    fleets.map(async ({ newKey, newTenant }) => [
      await newKey(),
      await newKey(),
      await newKey({ tenant_id: await newTenant() }),
    ]),
  )
  // Shorter than a lane waits for a lock, so that Postgres reports a circle as a deadlock.
  await query(
    `do $$ begin execute format('alter database %I set deadlock_timeout = 20', current_database()); end $$`,
  )
  const lanes = [openProcess(context), openProcess(context), openProcess(context)]
  const taken: Promise<Tally>[] = []
  for (let round = 0; round < 20; round++) {
    for (const [i, lane] of lanes.entries())
      for (let n = 0; n < 30; n++) {
        const which = (n + i) % 2
        const own = keys[which] ?? []
        const records = own.map(key => one(key))
        taken.push(
          untilTaken(
            lane,
            reportOf(fleets[which]?.workspaceId ?? '', i === 1 ? records.toReversed() : records),
          ),
        )
      }
    await setImmediate()
  }
  for (const tally of await Promise.all(taken)) assert.deepEqual(tally, { accepted: 3, ignored: 0 })
  for (const { workspaceId } of fleets) {
    for (const table of ['usage_hours', 'usage_months']) assert.equal(await sumOf(table, workspaceId), 2_700)
    // Each request is in the days of the workspace, of its project, and of its tenant there.
    assert.equal(await sumOf('usage_days', workspaceId), 3 * 2_700)
  }
  await Promise.all(lanes.map(lane => lane.close()))
  const [row] = await query('select deadlocks from pg_stat_database where datname = current_database()')
  assert.equal(Number(row.deadlocks), 0)
})

for (const table of ['usage_hours', 'usage_months'])
  test(`a locked row of ${table} delays no other workspace, and is counted after the lock`, async context => {
    const [fleet, other] = [await makeFleet(harness), await makeFleet(harness)]
    const [key, others] = [await fleet.newKey(), await other.newKey()]
    const lane = openProcess(context)
    await untilTaken(lane, reportOf(fleet.workspaceId, [one(key)]))
    const holder = await openHolder(context)
    await holder.query('begin')
    await holder.query(`select from ${table} where workspace_id = $1 for update`, [fleet.workspaceId])
    let isTaken = false
    const held = reportOf(fleet.workspaceId, [one(key)])
    const first = untilTaken(lane, held).finally(() => {
      isTaken = true
    })
    // In the same batch, and in later ones.
    const rest = Array.from({ length: 5 }, () => untilTaken(lane, reportOf(other.workspaceId, [one(others)])))
    for (const tally of await Promise.all(rest)) assert.deepEqual(tally, { accepted: 1, ignored: 0 })
    assert.equal(isTaken, false)
    await holder.query('rollback')
    assert.deepEqual(await first, { accepted: 1, ignored: 0 })
    assert.equal(await sumOf(table, fleet.workspaceId), 2)
  })

test('a report that waits past the deadline is answered 503, not counted, and can be sent again', async context => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  const impatient = await harness.startImpatient()
  const ask = (body: object) => impatient.ask('POST', '/v1/usage/reports', { token: fleet.live, body })
  await ask(bodyOf(key))
  const holder = await openHolder(context)
  await holder.query('begin')
  await holder.query('select from usage_months where workspace_id = $1 for update', [fleet.workspaceId])
  const body = bodyOf(key)
  const { status, body: problem } = await ask(body)
  assert.deepEqual([status, problem.code], [503, 'unavailable'])
  assert.equal(await sumOf('usage_hours', fleet.workspaceId), 1)
  await holder.query('rollback')
  assert.equal((await ask(body)).status, 202)
  assert.equal(await sumOf('usage_hours', fleet.workspaceId), 2)
})

test('no report waits for a key in a mutation: its last use is noted with the next report', async context => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  const holder = await openHolder(context)
  await holder.query('begin')
  await holder.query('select from api_keys where id = $1 for update', [key])
  assert.deepEqual(await fleet.report([{ key_id: key, hour: now.toISOString(), count: 1 }]), [1, 0])
  await holder.query('rollback')
  const lastUsed = async () =>
    (await harness.ask('GET', `/v1/keys/${key}`, { token: fleet.live })).body.last_used_at
  assert.deepEqual([(await fleet.daysOf(key)).total, await lastUsed()], [1, null])
  await fleet.report([{ key_id: key, hour: now.toISOString(), count: 1 }])
  assert.equal(await lastUsed(), now.toISOString())
})

test('a report whose connection is killed midway leaves no row, and is then applied once', async context => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  const lane = openProcess(context)
  await untilTaken(lane, reportOf(fleet.workspaceId, [one(key)]))
  const holder = await openHolder(context)
  await holder.query('begin')
  // Months are written last: by then the report is noted and its hour is added.
  await holder.query('select from usage_months where workspace_id = $1 for update', [fleet.workspaceId])
  const report = reportOf(fleet.workspaceId, [one(key)])
  const first = untilTaken(lane, report)
  await untilItWaits()
  await query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and application_name = 'keyrail lanes writes'`,
  )
  await holder.query('rollback')
  assert.deepEqual(await first, { accepted: 1, ignored: 0 })
  assert.deepEqual(await untilTaken(lane, report), { accepted: 1, ignored: 0 })
  assert.deepEqual(
    [await sumOf('usage_hours', fleet.workspaceId), await sumOf('usage_months', fleet.workspaceId)],
    [2, 2],
  )
})
