import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { until } from '../../../../test/until.ts'
import { createIdleConnections } from '../pool/idle.ts'
import { type LaneConnections, openLaneConnections } from './connections.ts'

const database = await makeDatabase(testCluster())
const admin = new pg.Client(database.connection)
await admin.connect()
test.after(async () => {
  await admin.end()
  await database.drop()
})

const ignore = () => {}
let opened = 0

/** Connections of one test, with a name that no other test has. */
function openOwn(most: number, isShared: boolean, requestMs = patientBudgets.requestMs) {
  opened += 1
  const name = `set ${opened}`
  const set = openLaneConnections({
    connection: database.connection,
    name,
    most,
    isShared,
    budgets: { ...patientBudgets, requestMs, watchdogMs: 500 },
    idle: createIdleConnections(),
  })
  test.after(() => set.close())
  const pids = async (): Promise<number[]> => {
    const { rows } = await admin.query('select pid from pg_stat_activity where application_name = $1', [
      `keyrail ${name}`,
    ])
    return rows.map(({ pid }) => pid)
  }
  return { set, pids }
}

const pidOf = (set: LaneConnections, reopened = ignore): Promise<number> =>
  set.carry(async client => (await client.query('select pg_backend_pid() as pid')).rows[0].pid, reopened)

/** Sends a statement that waits until the lock is released. */
const stall = (set: LaneConnections, lock: number): Promise<number> =>
  set.carry(
    async client =>
      (await client.query(`select pg_backend_pid() as pid, pg_advisory_xact_lock_shared(${lock})`)).rows[0]
        .pid,
    ignore,
  )
async function hold(lock: number): Promise<() => Promise<unknown>> {
  await admin.query(`select pg_advisory_lock(${lock})`)
  return () => admin.query(`select pg_advisory_unlock(${lock})`)
}
const untilWaits = (pids: readonly number[]) =>
  until(async () => {
    const { rowCount } = await admin.query(
      `select from pg_stat_activity where pid = any($1) and wait_event_type = 'Lock'`,
      [pids],
    )
    return rowCount === pids.length
  })

test('a batch avoids the connection that is stuck, and no more are opened than may be', async () => {
  const { set, pids } = openOwn(2, true)
  const free = await hold(1)
  const stuck = stall(set, 1)
  await until(async () => (await pids()).length === 1)
  await untilWaits(await pids())
  // What is sent at once, behind the only one there is, lets another open.
  const behind: Promise<number>[] = []
  const isAnswered = async () => {
    behind.push(pidOf(set))
    return (await Promise.race([...behind, setTimeout(20, 0)])) > 0
  }
  await until(isAnswered)
  const others = await Promise.all(Array.from({ length: 20 }, () => pidOf(set)))
  assert.equal(new Set(others).size, 1)
  await free()
  assert.equal(await behind[0], await stuck)
  assert.ok(!others.includes(await stuck))
  assert.equal((await pids()).length, 2)
})

test('where each batch has a connection to itself, those beyond begin in their order', async () => {
  const { set, pids } = openOwn(2, false)
  const free = await hold(3)
  const stuck = [stall(set, 3), stall(set, 3)]
  await until(async () => (await pids()).length === 2)
  await untilWaits(await pids())
  const begun: number[] = []
  const waiting = [1, 2, 3].map(n =>
    set.carry(async client => {
      begun.push(n)
      await client.query('select')
    }, ignore),
  )
  assert.deepEqual(begun, [])
  await free()
  await Promise.all([...stuck, ...waiting])
  assert.deepEqual(begun, [1, 2, 3])
  assert.equal((await pids()).length, 2)
})

test('a batch for which no connection becomes free in the time of a request is refused', async () => {
  const { set, pids } = openOwn(1, false, 300)
  const first = await pidOf(set)
  const silent = Promise.withResolvers<void>()
  const stuck = set.carry(() => silent.promise, ignore)
  await Promise.all([assert.rejects(stuck), assert.rejects(pidOf(set), { code: 'unavailable' })])
  silent.resolve()
  // Once the one before it has ended.
  await until(async () => (await pids()).length === 0)
  assert.notEqual(await pidOf(set), first)
})

test('what shares a connection with a batch that takes too long is free to be sent again', async () => {
  const { set } = openOwn(1, true, 400)
  await pidOf(set)
  const free = await hold(5)
  const stuck = stall(set, 5)
  const behind = pidOf(set)
  await Promise.all([assert.rejects(stuck, /terminated/), assert.rejects(behind, /terminated/)])
  await free()
  let reopened = 0
  assert.ok(await pidOf(set, () => (reopened += 1)))
  assert.equal(reopened, 1)
})

test('batches whose connection Postgres ends fail together, and the next one opens another', async () => {
  const { set, pids } = openOwn(1, true)
  const first = await pidOf(set)
  const free = await hold(6)
  const failed = [stall(set, 6), pidOf(set), pidOf(set)].map(one => assert.rejects(one))
  await untilWaits(await pids())
  await admin.query('select pg_terminate_backend($1)', [first])
  await Promise.all(failed)
  await free()
  assert.notEqual(await pidOf(set), first)
})

test('a connection keeps no answer of the batches that it has carried', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const { set } = openOwn(1, true)
  const answerTo = async () => new WeakRef(await set.carry(client => client.query('select 1'), ignore))
  const answers: WeakRef<pg.QueryResult>[] = []
  for (let n = 0; n < 20; n++) answers.push(await answerTo())
  await pidOf(set)
  await setTimeout(1)
  collect()
  // The runtime may know the last one still.
  assert.ok(answers.filter(answer => answer.deref() !== undefined).length <= 1)
})
