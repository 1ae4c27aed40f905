import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { figuresFrom } from '../../../test/figures.ts'
import { startTcpProxy } from '../../../test/tcp-proxy.ts'
import { until } from '../../../test/until.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/prometheus.ts'
import { connect } from './connection.ts'
import { type Chore, doChores, runRound } from './upkeep.ts'

const { connection, drop } = await makeDatabase(testCluster())
test.after(() => drop())
const names = ['keyrail_upkeep_last_success_timestamp_seconds', 'keyrail_upkeep_failures_total']

function openRounds(through = connection, watchdogMs?: number) {
  const observer = createMetrics({ version: '0', node: '0' })
  const log = createLog('silent')
  const round = (chore: Chore['run'], now: number) =>
    runRound(
      {
        connection: through,
        chores: [{ name: 'test', run: chore }],
        log,
        clock: { now: () => now },
        observer,
      },
      undefined,
      watchdogMs,
    )
  return { round, read: figuresFrom(observer) }
}

test('the last round that succeeded has its time, and one that failed is counted', async () => {
  const { round, read } = openRounds()
  assert.deepEqual(await read(...names), [0, 0])
  await round(async () => 0, 5_000)
  assert.deepEqual(await read(...names), [5, 0])
  await round(() => Promise.reject(new Error('no')), 6_000)
  assert.deepEqual(await read(...names), [5, 1])
})

test('a round that failed has given its turn back when the next one asks', async () => {
  const { round, read } = openRounds()
  for (let i = 0; i < 20; i++) await round(() => Promise.reject(new Error('no')), 6_000)
  assert.deepEqual(await read(...names), [0, 20])
})

test('a chore that fails, also inside a transaction, keeps no other from its turn', async () => {
  const failing: Chore['run'] = async client => {
    await client.query('begin')
    await client.query('select 1 / 0')
    return 0
  }
  const done: number[] = []
  const working: Chore['run'] = async client => done.push((await client.query('select 2 as two')).rows[0].two)
  const chores = [failing, working, failing, working].map((run, i) => ({ name: `chore ${i}`, run }))
  await assert.rejects(doChores(connection, chores, createLog('silent')), { code: '22012' })
  assert.deepEqual(done, [2, 2])
})

test('a process whose turn another one has counts no round', async () => {
  const { round, read } = openRounds()
  const other = await connect(connection, 'test', false)
  await other.query(`select pg_advisory_lock(hashtextextended('keyrail.upkeep', 0))`)
  await round(async () => assert.fail('the other has the turn'), 7_000)
  assert.deepEqual(await read(...names), [0, 0])
  await other.end()
})

test('a round whose socket hangs fails, and the next one is done', async () => {
  const proxy = await startTcpProxy(connection)
  const { round, read } = openRounds(proxy.connection, 1_000)
  await round(async client => {
    proxy.hang()
    await client.query('select 1')
    assert.fail('it got an answer')
  }, 8_000)
  assert.deepEqual(await read(...names), [0, 1])
  // As Postgres does once it notices, which gives the turn back.
  proxy.cut()
  await until(async () => {
    await round(async () => 0, 9_000)
    return (await read(...names))[0] === 9
  })
  await proxy.close()
})
