import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { openCounterRows } from './counter-rows.ts'

const most = 32
const harness = await startHarness({ maxCountersPerWorkspace: most })
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

const check = (keyId: string, { token = vendor.live, cost = 1 } = {}) =>
  harness.ask('POST', '/v1/ratelimit/check', {
    token,
    body: {
      project_id: vendor.projectId,
      env: 'live',
      key_id: keyId,
      cost,
      limits: [{ id: 'burst', limit: 100, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }],
    },
  })

const countRows = async () => {
  const [row] = await harness.query(
    'select count(*)::int as rows from rate_counters where workspace_id = $1',
    [vendor.workspaceId],
  )
  return row.rows
}

test('a workspace beyond its counters keeps the old and gets no new ones, others do', async () => {
  const keys = Array.from({ length: 40 }, () => randomUUID())
  const answers = await Promise.all(keys.map(key => check(key)))
  // What is written during a count may be counted twice or not at all, until the next count, which is seconds later. So a
  // refusal alone does not mean that the workspace is full.
  await until(
    async () => (await check(randomUUID())).status === 409 && (await countRows()) >= most,
    'a new counter is refused, of a workspace that is full',
  )
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body.code], [409, 'counter_limit_reached'])
  for (const [i, { status }] of answers.entries())
    if (status === 200) assert.equal((await check(keys[i] as string)).body.limits[0].remaining, 98)
  assert.ok(answers.some(({ status }) => status === 200))
  assert.equal(
    (await check(randomUUID(), { cost: 0 })).body.limits[0].remaining,
    100,
    'a check of cost 0 needs no row',
  )
  assert.equal((await check(randomUUID(), { token: other.live })).status, 200)
  await until(async () => {
    await check(randomUUID())
    return /keyrail_workspace_limit_ratio\{limit="counters"\} [1-9]/.test(await harness.deps.metrics.text())
  }, 'the metric says that the workspace is full')
})

test('a process counts the rows that other processes made', async () => {
  const rows = openCounterRows(harness.connection, most, systemClock, harness.deps.log)
  rows.add(vendor.workspaceId, 1)
  await until(() => !rows.hasRoom(vendor.workspaceId, 1), 'the rows are counted')
  assert.equal(rows.hasRoom(other.workspaceId, 1), true)
  await rows.close()
})
