import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { makeFleet } from '../../test/usage-fleet.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneUsageHours, pruneUsageMonths, pruneUsageReports } from './room.ts'

const harness = await startHarness()
const { query } = harness
const fleet = await makeFleet(harness)
const clock = (time: string) => harness.setStoreTime(new Date(time))
const upkeep = () =>
  doChores(harness.connection, [pruneUsageReports, pruneUsageHours, pruneUsageMonths], harness.deps.log)
const countOf = async (table: string): Promise<number> =>
  (await query(`select count(*) as n from ${table} where workspace_id = $1`, [fleet.workspaceId]))[0].n
const left = async () => [
  await countOf('usage_reports'),
  await countOf('usage_hours'),
  await countOf('usage_months'),
]
const clear = async () => {
  for (const table of ['usage_reports', 'usage_hours', 'usage_months']) await query(`delete from ${table}`)
}

test('a report id is known for 14 days; after that none of its hours is accepted', async () => {
  await clear()
  const key = await fleet.newKey()
  const id = randomUUID()
  const records = [{ key_id: key, hour: '2030-03-01T11:00:00Z', count: 1 }]
  const taken = new Date('2030-03-01T10:55:00.000Z').getTime()
  await harness.setStoreTime(new Date(taken))
  assert.deepEqual(await fleet.report(records, { id }), [1, 0])
  await harness.setStoreTime(new Date(taken + 14 * 86_400_000 - 1))
  await upkeep()
  assert.deepEqual(await fleet.report(records, { id }), [1, 0])
  await harness.setStoreTime(new Date(taken + 14 * 86_400_000))
  await upkeep()
  assert.deepEqual(await left(), [0, 1, 1])
  assert.deepEqual(await fleet.report(records, { id }), [0, 1])
  assert.equal((await fleet.daysOf(key)).total, 1)
})

test('hours are deleted after 25 months, and a month after its last hour', async () => {
  await clear()
  const key = await fleet.newKey()
  await clock('2028-01-31T23:30:00.000Z')
  await fleet.report(
    ['2028-01-31T22:00:00Z', '2028-01-31T23:00:00Z'].map(hour => ({ key_id: key, hour, count: 1 })),
  )
  await clock('2030-02-28T22:00:00.000Z')
  await upkeep()
  // 25 months before the 28th is the 28th.
  assert.deepEqual(await left(), [0, 2, 1])
  await clock('2030-02-28T23:59:59.999Z')
  await upkeep()
  assert.deepEqual(await left(), [0, 2, 1])
  await clock('2030-03-01T00:00:00.000Z')
  await upkeep()
  assert.deepEqual(await left(), [0, 0, 0])
})

test('rows are deleted in batches, and a locked row is deleted the next time', async context => {
  await clear()
  await query(
    `insert into usage_hours (workspace_id, key_id, hour, requests)
     select $1, gen_random_uuid(), '2026-01-01T00:00:00Z', 1 from generate_series(1, 2500)`,
    [fleet.workspaceId],
  )
  await clock('2030-01-01T00:00:00.000Z')
  const holder = new pg.Client(harness.connection)
  await holder.connect()
  context.after(() => holder.end())
  await holder.query('begin')
  await holder.query('select from usage_hours limit 1 for update')
  await upkeep()
  assert.deepEqual(await left(), [0, 1, 0])
  await holder.query('rollback')
  await upkeep()
  assert.deepEqual(await left(), [0, 0, 0])
})
