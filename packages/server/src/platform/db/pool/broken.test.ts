import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { until } from '../../../../test/until.ts'
import { uncounted } from '../../observe/metrics.ts'
import { Refusal } from '../../refusal.ts'
import { sql } from '../connection.ts'
import { unbound } from '../db.ts'
import { openLanes } from '../lanes/lanes.ts'
import type { LaneSpec } from '../lanes/spec.ts'
import { openPool } from './pool.ts'

const harness = await startHarness()
const { connection, query } = harness
const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'
const pidOf = sql('test.pid', 'select pg_backend_pid() as pid')
const terminate = (pid: number) => query('select pg_terminate_backend($1, 60000)', [pid])
const isThere = async (pid: number) =>
  (await query('select from pg_stat_activity where pid = $1', [pid])).length > 0

/** A pool and two lanes of one database, as a service has them. */
function openOwn(requestMs = patientBudgets.requestMs) {
  const budgets = { ...patientBudgets, requestMs }
  const lanes = openLanes(connection, budgets, uncounted)
  const pool = openPool({
    connection,
    size: 4,
    budgets,
    hints: { announce() {} },
    lanes,
    observer: uncounted,
  })
  const pidLane = (name: string): LaneSpec<null, number> => ({
    name,
    settings: '',
    repeatable: true,
    async converse(ask, items) {
      const [rows = []] = await ask({ statement: pidOf, values: [] })
      return items.map(() => Number(rows[0]?.pid))
    },
  })
  after(async () => {
    await pool.close()
    await lanes.close()
  })
  const db = pool.bind(unbound)
  const workspaceId = randomUUID()
  return {
    db,
    lanes,
    workspaceId,
    a: lanes.open(pidLane('a')),
    b: lanes.open(pidLane('b')),
    poolPid: async () =>
      (await db.inWorkspace(workspaceId, tx => tx.query<{ pid: number }>(pidOf)))[0]?.pid ?? 0,
  }
}

test('when one idle connection breaks, pool and lanes drop all that are idle', async () => {
  const { a, b, poolPid } = openOwn()
  const [first, second, third] = [await a.run(null), await b.run(null), await poolPid()]
  await terminate(first)
  await until(async () => !(await isThere(second)) && !(await isThere(third)))
  const fresh = [await a.run(null), await b.run(null), await poolPid()]
  await terminate(fresh[2] ?? 0)
  await until(async () => !(await isThere(fresh[0] ?? 0)) && !(await isThere(fresh[1] ?? 0)))
})

test('when a transaction loses its connection, the idle ones are dropped', async () => {
  const { db, workspaceId, a } = openOwn()
  const idle = await a.run(null)
  await db.inWorkspace(workspaceId, async tx => {
    const [{ pid } = { pid: 0 }] = await tx.query<{ pid: number }>(pidOf)
    if (await isThere(idle)) await terminate(pid)
    return await tx.query(pidOf)
  })
  await until(async () => !(await isThere(idle)))
})

test('a deadline cuts its own connection and no other', async () => {
  const { lanes, b, poolPid } = openOwn(500)
  const before = [await b.run(null), await poolPid()]
  const slow = lanes.open<null, void>({
    name: 'slow',
    settings: '',
    repeatable: true,
    async converse(ask, items) {
      await ask({ statement: sql('test.wait', 'select pg_advisory_xact_lock(7)'), values: [] })
      return items.map(() => undefined)
    },
  })
  await query('select pg_advisory_lock(7)')
  await assert.rejects(slow.run(null), isUnavailable)
  const waits = `select from pg_stat_activity where application_name = 'keyrail lane slow' and state = 'active'`
  await query('select pg_advisory_unlock(7)')
  await until(async () => (await query(waits)).length === 0)
  assert.deepEqual([await b.run(null), await poolPid()], before)
})

test('a transaction that loses its connection before COMMIT runs again, once', async () => {
  const { db, workspaceId } = openOwn()
  await query('create table kept (run int); grant insert on kept to keyrail_app')
  const insert = sql('test.insert', 'insert into kept values ($1)')
  let runs = 0
  const work = (losses: number) =>
    db.inWorkspace(workspaceId, async tx => {
      runs += 1
      tx.send(insert, [runs])
      const [{ pid } = { pid: 0 }] = await tx.query<{ pid: number }>(pidOf)
      if (runs <= losses) await terminate(pid)
      return await tx.query(pidOf)
    })
  await work(1)
  assert.deepEqual(await query('select run from kept'), [{ run: 2 }])
  runs = 0
  await assert.rejects(work(2), isUnavailable)
  assert.equal(runs, 2)
  assert.equal((await query('select run from kept')).length, 1)
})

test('a transaction that loses its connection after it sent COMMIT does not run again', async () => {
  const { db, workspaceId } = openOwn()
  await query(`
    create table slow_to_commit (n int);
    grant insert on slow_to_commit to keyrail_app;
    create function wait_at_commit() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(8); return null; end $$;
    create constraint trigger waits after insert on slow_to_commit deferrable initially deferred
      for each row execute function wait_at_commit()`)
  await query('select pg_advisory_lock(8)')
  let runs = 0
  const writing = db.inWorkspace(workspaceId, async tx => {
    runs += 1
    tx.send(sql('test.slow_to_commit', 'insert into slow_to_commit values (1)'))
  })
  const rejected = assert.rejects(writing, isUnavailable)
  const waiting = `select pid from pg_stat_activity where application_name = 'keyrail pool'
    and wait_event = 'advisory' and query = 'commit'`
  await until(async () => (await query(waiting)).length === 1)
  const [{ pid }] = await query(waiting)
  await terminate(pid)
  await rejected
  await query('select pg_advisory_unlock(8)')
  assert.equal(runs, 1)
})

test('a read whose connection breaks is sent again', async () => {
  const { db, workspaceId } = openOwn()
  await query('select pg_advisory_lock(9)')
  let runs = 0
  const reading = db.readAtOnce(workspaceId, tx => {
    runs += 1
    return tx.query(sql('test.wait_9', 'select pg_advisory_xact_lock(9)'))
  })
  const waiting = `select pid from pg_stat_activity where application_name = 'keyrail pool'
    and wait_event = 'advisory' and query like '%pg_advisory_xact_lock(9)%'`
  await until(async () => (await query(waiting)).length === 1)
  const [{ pid }] = await query(waiting)
  await terminate(pid)
  await until(() => runs === 2)
  await query('select pg_advisory_unlock(9)')
  assert.equal((await reading).length, 1)
})
