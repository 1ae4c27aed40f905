import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { openTestPool } from '../../../../test/stores.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { serviceBudgets } from '../../budgets.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import { Refusal } from '../../refusal.ts'
import { sql } from '../connection.ts'
import { unbound } from '../db.ts'

const harness = await startHarness()
const { workspaceId } = await makeVendor(harness)
let deadlocks = 0
// Half of the connections are one workspace's.
const pool = openTestPool(harness.connection, 4, {
  deadlockRetried() {
    deadlocks += 1
  },
})
const db = pool.bind(unbound)
/** For tests of time limits: it waits as long as the service does in production. */
const impatientPool = openTestPool(harness.connection, 4, { budgets: serviceBudgets })
const impatient = impatientPool.bind(unbound)
test.after(() => Promise.all([pool.close(), impatientPool.close()]))

const insertTenant = sql(
  'test.insert',
  "insert into tenants (workspace_id, id, external_id, created_at, updated_at) values ($1, gen_random_uuid(), $2, 'epoch', 'epoch')",
)
const whoAmI = sql('test.who', "select current_user as who, current_setting('app.workspace_id') as scope")
const isJit = sql('test.jit', "select current_setting('jit') as jit")
const tenants = (external: string) =>
  harness.query('select 1 from tenants where external_id = $1', [external])

test('work runs as the role that owns nothing, in one workspace, and leaves neither behind', async () => {
  const [row] = await db.inWorkspace(workspaceId, tx => tx.query<{ who: string; scope: string }>(whoAmI))
  assert.deepEqual(row, { who: 'keyrail_app', scope: workspaceId })
  const other = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const [again] = await db.inWorkspace(other, tx => tx.query<{ scope: string }>(whoAmI))
  assert.equal(again?.scope, other)
})

test('no statement is compiled, which can take seconds where a table has no statistics', async () => {
  assert.deepEqual(await harness.query('show jit'), [{ jit: 'on' }], 'this Postgres compiles by default')
  assert.deepEqual(await db.inWorkspace(workspaceId, tx => tx.query(isJit)), [{ jit: 'off' }])
})

test('Postgres ends a transaction whose process has vanished, and the right that it holds', async () => {
  const idle = sql('test.idle', "select current_setting('idle_in_transaction_session_timeout') as ends")
  const [row] = await db.inWorkspace(workspaceId, tx => tx.query<{ ends: string }>(idle))
  assert.equal(row?.ends, '10s')
})

test('a connection outlives a pause of some minutes, so that the next burst need not open it', async t => {
  const own = openTestPool(harness.connection, 4)
  t.after(() => own.close())
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await own.bind(unbound).inWorkspace(workspaceId, tx => tx.query(whoAmI))
  t.mock.timers.tick(240_000)
  assert.equal(own.depth().idle, 1)
})

test('a work that throws leaves nothing, and its error comes through', async () => {
  const failing = db.inWorkspace(workspaceId, async tx => {
    tx.send(insertTenant, [workspaceId, 'thrown'])
    throw new Refusal('not_found')
  })
  await assert.rejects(failing, error => error instanceof Refusal && error.code === 'not_found')
  assert.deepEqual(await tenants('thrown'), [])
})

test('a statement that fails unread, or last, fails the commit and undoes the rest', async () => {
  for (const how of ['send', 'sendLast'] as const) {
    const failing = db.inWorkspace(workspaceId, async tx => {
      tx.send(insertTenant, [workspaceId, 'undone'])
      tx[how](insertTenant, [workspaceId, ''])
      tx.send(insertTenant, [workspaceId, 'undone too'])
    })
    await assert.rejects(failing, error => error instanceof Refusal && error.code === 'validation_failed')
  }
  assert.deepEqual([await tenants('undone'), await tenants('undone too')], [[], []])
})

test('what is sent last travels behind everything else', async () => {
  const order = sql(
    'test.order',
    "select set_config('app.order', coalesce(current_setting('app.order', true), '') || $1, true)",
  )
  const read = sql('test.read', "select current_setting('app.order', true) as seen")
  const seen = await db.inWorkspace(workspaceId, async tx => {
    tx.sendLast(order, ['last'])
    tx.send(order, ['first'])
    return (await tx.query<{ seen: string }>(read))[0]?.seen
  })
  assert.equal(seen, 'first')
})

test('of two works that lock each other out one is run again, and both succeed', async () => {
  const lock = sql('test.lock', 'select pg_advisory_xact_lock($1)')
  const met = Promise.withResolvers<void>()
  let arrived = 0
  const work = (first: number, second: number) =>
    db.inWorkspace(workspaceId, async tx => {
      await tx.query(lock, [first])
      arrived += 1
      if (arrived === 2) met.resolve()
      await met.promise
      await tx.query(lock, [second])
    })
  await Promise.all([work(1, 2), work(2, 1)])
  assert.equal(deadlocks, 1)
})

test('when every connection is taken, a caller is answered 503 and the rest goes on', async () => {
  const release = Promise.withResolvers<void>()
  const holders = Promise.allSettled(
    [0, 1].map(() => impatient.by(new Deadline(30_000)).inWorkspace(workspaceId, () => release.promise)),
  )
  const waiting = impatient.inWorkspace(workspaceId, tx => tx.query(whoAmI))
  await assert.rejects(waiting, error => error instanceof Refusal && error.code === 'unavailable')
  release.resolve()
  await holders
  assert.equal((await impatient.inWorkspace(workspaceId, tx => tx.query(whoAmI))).length, 1)
})

test('a work that takes too long is answered 503, undone, and its connection is not used again', async () => {
  const slow = impatient.inWorkspace(workspaceId, async tx => {
    tx.send(insertTenant, [workspaceId, 'too slow'])
    await tx.query(sql('test.sleep', 'select pg_sleep(30)'))
  })
  await assert.rejects(slow, error => error instanceof Refusal && error.code === 'unavailable')
  assert.deepEqual(await tenants('too slow'), [])
  assert.equal((await impatient.inWorkspace(workspaceId, tx => tx.query(whoAmI))).length, 1)
})

test('the questions of one request share its deadline', async () => {
  const own = db.by(new Deadline(1_000))
  const pause = sql('test.pause', 'select pg_sleep($1)')
  await own.inWorkspace(workspaceId, tx => tx.query(pause, [0.01]))
  const second = own.inWorkspace(workspaceId, tx => tx.query(pause, [30]))
  await assert.rejects(second, error => error instanceof Refusal && error.code === 'unavailable')
})

test('a request past its deadline takes no connection', async () => {
  const fresh = openTestPool(harness.connection, 1)
  const late = fresh.bind({ ...unbound, deadline: new Deadline(-1) })
  const refused = [
    late.inWorkspace(workspaceId, tx => tx.query(whoAmI)),
    late.asPerson(workspaceId, async () => {}),
  ]
  for (const { reason } of (await Promise.allSettled(refused)) as PromiseRejectedResult[])
    assert.equal(reason?.code, 'unavailable')
  assert.deepEqual(fresh.depth(), { total: 0, idle: 0, waiting: 0, parties: 0 })
  await fresh.close()
})

test('a work that may take long waits no longer for a lock than any other', async () => {
  const lock = sql('test.wait', 'select pg_advisory_xact_lock(99)')
  await harness.query('select pg_advisory_lock(99)')
  try {
    const waiting = impatient.inWorkspace(workspaceId, tx => tx.query(lock), { longWorkMs: 3_600_000 })
    await assert.rejects(waiting, error => error instanceof Refusal && error.code === 'unavailable')
  } finally {
    await harness.query('select pg_advisory_unlock(99)')
  }
})

test('a work that may take long is not cut off while the store answers', async () => {
  const pause = sql('test.long', 'select pg_sleep(2.5)')
  const done = await impatient.inWorkspace(workspaceId, tx => tx.query(pause), { longWorkMs: 240_000 })
  assert.equal(done.length, 1)
})
