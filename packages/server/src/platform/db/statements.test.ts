import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/harness.ts'
import { serviceFiles } from '../../../test/source-files.ts'
import { openTestLanes, openTestPool, patientBudgets } from '../../../test/stores.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { uncounted } from '../observe/metrics.ts'
import { sql } from './connection.ts'
import { unbound } from './db.ts'
import type { Lane } from './lanes/lane.ts'
import { openPool } from './pool/pool.ts'

const harness = await startHarness({ databasePool: 1 })
const { ask, connection, query } = harness
const [first, second] = [await makeVendor(harness), await makeVendor(harness)]
await query('create table marks (mark text primary key)')
await query('grant insert, select on marks to keyrail_app')
const marks = async () => (await query('select mark from marks order by mark')).map(({ mark }) => mark)
test.beforeEach(() => query('truncate marks'))

/** As another program on the same connection would do, or a pooler that resets it. */
const forget = sql('test.forget', 'deallocate all')
const insertMark = sql('test.insert_mark', 'insert into marks (mark) values ($1)')
const pid = sql('test.pid', 'select pg_backend_pid() as pid')

test('a statement of one workspace costs no request of another on the same connection', async () => {
  const daily = await ask('GET', '/v1/usage/daily?external_id=acme', { token: first.live })
  assert.equal(daily.status, 200)
  const { projectId, live } = second
  await ask('POST', '/v1/tenants', { token: live, body: { external_id: 'acme' } })
  const body = { project_id: projectId, env: 'live', external_id: 'acme' }
  assert.equal((await ask('POST', '/v1/keys', { token: live, body })).status, 201)
})

test('no two statements of the service share a name or a text', async () => {
  const files = serviceFiles().filter(({ code }) => /\bsql\(/.test(code))
  assert.ok(files.length > 20)
  for (const { path } of files) await import(`../../../../../${path}`)
  sql('test.again', 'select 2')
  sql('test.again', 'select 2')
  assert.throws(() => sql('test.again', 'select 3'), /two statements have the name test\.again/)
  assert.throws(() => sql('test.other', 'select 2'), /test\.again and test\.other are the same statement/)
})

for (const where of ['before the commit', 'at the commit']) {
  test(`a connection that forgot a statement ${where} is replaced, and the work runs again`, async t => {
    const pool = openTestPool(connection, 1)
    t.after(() => pool.close())
    const db = pool.bind(unbound)
    const pids: number[] = []
    const mark = (isForgotten: boolean) =>
      db.inWorkspace(first.workspaceId, async tx => {
        const [row] = await tx.query<{ pid: number }>(pid)
        pids.push(row?.pid ?? 0)
        if (isForgotten && pids.length === 2) tx.send(forget)
        tx.send(insertMark, [`m${pids.length}`])
        if (where === 'before the commit') await tx.query(pid)
      })
    await mark(false)
    await mark(true)
    assert.deepEqual(await marks(), ['m1', 'm3'], 'the attempt that failed has stored nothing')
    assert.equal(pids[0], pids[1])
    assert.notEqual(pids[1], pids[2])
    await mark(false)
    assert.equal(pids[3], pids[2], 'the connection that replaced it is kept')
  })
}

test('a read at once whose connection forgot its statements runs again', async t => {
  const pool = openTestPool(connection, 1)
  t.after(() => pool.close())
  const db = pool.bind(unbound)
  const read = () => db.readAtOnce(first.workspaceId, tx => tx.query<{ pid: number }>(pid))
  const [before] = await read()
  await db.inWorkspace(first.workspaceId, tx => tx.query(forget))
  const [after] = await read()
  assert.notEqual(after?.pid, before?.pid)
})

test('a write of a lane that forgot its statement is sent again, once and as a whole', async t => {
  const lanes = openTestLanes(connection)
  t.after(() => lanes.close())
  let isForgotten = false
  const lane: Lane<string, string> = lanes.open({
    name: 'marks',
    shares: 'writes',
    repeatable: false,
    async converse(send, items) {
      if (isForgotten) {
        isForgotten = false
        await send({ statement: forget, values: [] })
      }
      for (const item of items) await send({ statement: insertMark, values: [item] })
      return [...items]
    },
  })
  await lane.run('a')
  isForgotten = true
  assert.equal(await lane.run('b'), 'b')
  assert.deepEqual(await marks(), ['a', 'b'])
})

test('a connection that forgot a statement says nothing of its neighbours, which stay open', async t => {
  const lanes = openTestLanes(connection)
  const pool = openPool({
    connection,
    size: 1,
    budgets: patientBudgets,
    hints: { announce() {} },
    lanes,
    observer: uncounted,
  })
  t.after(async () => {
    await pool.close()
    await lanes.close()
  })
  const neighbour: Lane<null, number> = lanes.open({
    name: 'neighbour',
    shares: 'writes',
    repeatable: true,
    async converse(send) {
      const [[row] = []] = await send({ statement: pid, values: [] })
      return [Number(row?.pid)]
    },
  })
  const before = await neighbour.run(null)
  const db = pool.bind(unbound)
  let attempts = 0
  const works = () =>
    db.inWorkspace(first.workspaceId, async tx => {
      attempts += 1
      if (attempts === 2) await tx.query(forget)
      await tx.query(pid)
    })
  await works()
  await works()
  assert.equal(attempts, 3)
  assert.equal(await neighbour.run(null), before)
})
