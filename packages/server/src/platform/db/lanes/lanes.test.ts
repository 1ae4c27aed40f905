import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { startHarness } from '../../../../test/harness.ts'
import { openTestLanes } from '../../../../test/stores.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { Refusal } from '../../refusal.ts'
import { sql } from '../connection.ts'
import type { LaneSpec } from './spec.ts'

const echo = (name: string): LaneSpec<number, number> => ({
  name,
  shares: 'writes',
  statement: sql('test.echo', 'select n from unnest($1::int[]) with ordinality u(n, place) order by place'),
  values: items => [items],
  answers: rows => rows.map(row => Number(row.n)),
  repeatable: true,
})

test('every lane of the service is in the gauge, and those that share connections name them', async () => {
  const harness = await startHarness()
  const { live } = await makeVendor(harness)
  await harness.ask('GET', '/readyz')
  await harness.ask('GET', '/v1/keys', { token: live })
  const text = await harness.deps.metrics.text()
  const measured = [...text.matchAll(/^keyrail_lane_waiting\{lane="(\w+)"\} \d+$/gm)].map(([, lane]) => lane)
  assert.deepEqual(
    measured,
    harness.deps.lanes.depths().map(({ lane }) => lane),
  )
  const connected = await harness.query(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and application_name like 'keyrail lane%' order by name`,
  )
  assert.deepEqual(
    connected.map(({ name }) => name),
    ['keyrail lanes reads', 'keyrail lanes writes'],
  )
})

test('a lane is measured from its opening on, under a name that no other has', async t => {
  const database = await makeDatabase(testCluster())
  const lanes = openTestLanes(database.connection)
  t.after(() => database.drop())
  const [first, second] = [lanes.open(echo('first')), lanes.open(echo('second'))]
  lanes.measure('elsewhere', () => 7)
  assert.throws(() => lanes.open(echo('first')), /first/)
  const answers = [first.run(1), second.run(2), second.run(3)]
  assert.deepEqual(lanes.depths(), [
    { lane: 'first', waiting: 1 },
    { lane: 'second', waiting: 2 },
    { lane: 'elsewhere', waiting: 7 },
  ])
  assert.deepEqual(await Promise.all(answers), [1, 2, 3])
  await lanes.close()
  for (const lane of [first, second])
    await assert.rejects(lane.run(1), error => error instanceof Refusal && error.code === 'unavailable')
})
