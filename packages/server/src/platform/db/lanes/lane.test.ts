import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { openTestLane } from '../../../../test/stores.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import { uncounted } from '../../observe/metrics.ts'
import { Refusal } from '../../refusal.ts'
import { sql } from '../connection.ts'
import type { LaneSpec } from './spec.ts'

const database = await makeDatabase(testCluster())
const { connection } = database
const admin = new pg.Client(connection)
await admin.connect()
const holder = new pg.Client(connection)
await holder.connect()
await admin.query('create table counted (id int primary key, times int not null)')
test.after(async () => {
  await holder.end()
  await admin.end()
  await database.drop()
})

const batches: number[] = []
const observer = { ...uncounted, batchSent: (_lane: string, items: number) => void batches.push(items) }
const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'

const double: LaneSpec<number, number> = {
  name: 'double',
  shares: 'writes',
  statement: sql(
    'test.double',
    'select n * 2 as twice from unnest($1::int[]) with ordinality u(n, place) order by place',
  ),
  values: items => [items],
  answers: rows => rows.map(row => Number(row.twice)),
  repeatable: true,
}
const divide: LaneSpec<number, number> = {
  ...double,
  name: 'divide',
  shares: 'writes',
  statement: sql(
    'test.divide',
    'select 100 / n as twice from unnest($1::int[]) with ordinality u(n, place) order by place',
  ),
}

const count: LaneSpec<number, void> = {
  name: 'count',
  shares: 'writes',
  statement: sql(
    'test.count',
    'insert into counted select n, 1 from unnest($1::int[]) n on conflict (id) do update set times = counted.times + 1',
  ),
  values: items => [items],
  answers: (_rows, items) => items.map(() => undefined),
  repeatable: false,
}

test('items that arrive during a statement ride the next one, and each caller gets its answer', async () => {
  const lane = openTestLane(connection, double, observer)
  batches.length = 0
  const answers = await Promise.all(Array.from({ length: 1200 }, (_, i) => lane.run(i)))
  assert.deepEqual(
    answers,
    answers.map((_, i) => i * 2),
  )
  assert.deepEqual(batches, [500, 500, 200])
  await lane.close()
})

test('a conversation that refuses is not run again, and every caller in it is answered', async () => {
  let begun = 0
  const lane = openTestLane<number, number>(
    connection,
    {
      name: 'last word',
      shares: 'writes',
      repeatable: false,
      async converse() {
        begun += 1
        throw new Refusal('unavailable')
      },
    },
    observer,
  )
  const told = await Promise.allSettled([1, 2, 3].map(n => lane.run(n)))
  assert.ok(told.every(one => one.status === 'rejected' && isUnavailable(one.reason)))
  assert.equal(begun, 1)
  await lane.close()
})

test('callers who ask for the same are asked for once, and all get the answer', async () => {
  const sent: number[][] = []
  const shared: LaneSpec<number, number> = {
    ...double,
    nameOf: String,
    values: items => {
      sent.push([...items])
      return [items]
    },
  }
  const lane = openTestLane(connection, shared, observer)
  assert.deepEqual(await Promise.all([7, 3, 7, 7, 3].map(n => lane.run(n))), [14, 6, 14, 14, 6])
  assert.deepEqual(sent, [[7, 3]])
  await lane.close()
})

test('a statement is planned for indexes, however small the tables are when it is first run', async () => {
  const plan: LaneSpec<string, string> = {
    name: 'plan',
    shares: 'writes',
    statement: sql('test.plan', `select current_setting(name) as value from unnest($1::text[]) name`),
    values: names => [names],
    answers: rows => rows.map(row => String(row.value)),
    repeatable: true,
  }
  const lane = openTestLane(connection, plan, observer)
  const asked = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'plan_cache_mode']
  const settings = await Promise.all(asked.map(name => lane.run(name)))
  assert.deepEqual(settings, ['off', 'off', 'off', 'force_generic_plan'])
  await lane.close()
})

test('a batch is cut at its bytes as well as at its items', async () => {
  const lane = openTestLane(connection, { ...double, bytesOf: () => 100 * 1024 }, observer)
  batches.length = 0
  await Promise.all(Array.from({ length: 6 }, (_, i) => lane.run(i)))
  assert.deepEqual(batches, [2, 2, 2])
  await lane.close()
})

test('callers who share a question count as one for the bytes of a batch', async () => {
  const lane = openTestLane(connection, { ...double, nameOf: String, bytesOf: () => 100 * 1024 }, observer)
  batches.length = 0
  assert.deepEqual(
    await Promise.all([1, 1, 1, 1, 2, 2, 3, 1].map(n => lane.run(n))),
    [2, 2, 2, 2, 4, 4, 6, 2],
  )
  assert.deepEqual(batches, [6, 2])
  await lane.close()
})

test('one bad item fails alone, its neighbours are answered', async () => {
  const lane = openTestLane(connection, divide, observer)
  const answers = await Promise.allSettled([1, 2, 0, 4, 5].map(n => lane.run(n)))
  assert.deepEqual(
    answers.map(answer => (answer.status === 'fulfilled' ? answer.value : 'refused')),
    [100, 50, 'refused', 25, 20],
  )
  await lane.close()
})

test('a lost connection is opened anew for a read, without its caller noticing', async () => {
  const lane = openTestLane(connection, double, observer)
  await lane.run(1)
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keyrail lane double'",
  )
  assert.deepEqual(await Promise.all([2, 3].map(n => lane.run(n))), [4, 6])
  await lane.close()
})

test('a write whose connection is lost is answered 503 and never sent a second time', async () => {
  const lane = openTestLane<number, void>(connection, count, observer)
  await holder.query('begin; lock table counted in share mode')
  const write = lane.run(7)
  let answered = false
  write
    .catch(() => {})
    .finally(() => {
      answered = true
    })
  const untilBlocked = async (): Promise<void> => {
    const { rows } = await admin.query(
      "select pid from pg_stat_activity where application_name = 'keyrail lane count' and wait_event_type = 'Lock'",
    )
    if (rows.length > 0) await admin.query('select pg_terminate_backend($1)', [rows[0].pid])
    else if (!answered) await untilBlocked()
  }
  await untilBlocked()
  await assert.rejects(write, isUnavailable)
  await holder.query('commit')
  assert.deepEqual((await admin.query('select * from counted')).rows, [])
  await lane.run(7)
  assert.deepEqual((await admin.query('select * from counted')).rows, [{ id: 7, times: 1 }])
  await lane.close()
})

test('a write whose connection died idle is sent on another one', async () => {
  const lane = openTestLane<number, void>(connection, { ...count, name: 'count after' }, observer)
  await lane.run(8)
  await admin.query(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where application_name = 'keyrail lane count after'`,
  )
  await lane.run(8)
  assert.deepEqual((await admin.query('select times from counted where id = 8')).rows, [{ times: 2 }])
  await lane.close()
})

test('a caller is answered 503 at its own deadline, and those beside it when the store answers', async () => {
  const lane = openTestLane<number, number>(
    connection,
    {
      name: 'slow',
      shares: 'writes',
      repeatable: true,
      async converse(ask, items) {
        await ask({ statement: sql('test.wait', 'select pg_advisory_xact_lock(7)'), values: [] })
        return items.map(n => n * 2)
      },
    },
    observer,
  )
  await holder.query('select pg_advisory_lock(7)')
  const [hurried, patient] = [lane.run(1, new Deadline(50)), lane.run(2)]
  await assert.rejects(hurried, isUnavailable)
  await holder.query('select pg_advisory_unlock(7)')
  assert.equal(await patient, 4)
  await lane.close()
})

test('an unreachable store is answered 503, and the lane works again when it is back', async () => {
  const nowhere = { ...connection, host: '/nonexistent' }
  const lane = openTestLane(nowhere, double, observer)
  await assert.rejects(lane.run(1), isUnavailable)
  Object.assign(nowhere, { host: connection.host })
  assert.equal(await lane.run(1), 2)
  await lane.close()
})
