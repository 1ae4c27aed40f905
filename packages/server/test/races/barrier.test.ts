import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startHarness } from '../harness.ts'
import { makeVendor } from '../vendor.ts'
import { auditHeadOf, meet, openBarrier } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const { live, workspaceId } = await makeVendor(harness)
const rename = (name: string) => () => ask('PATCH', '/v1/workspace', { token: live, body: { name } })
const refused = () => Promise.resolve({ status: 503, headers: {}, body: { code: 'unavailable' } })
/** In this database alone: those of other test files are copies, in which the table has the same number. */
const locks = `select from pg_locks where relation = 'audit_heads'::regclass and mode = 'RowShareLock'
  and database = (select oid from pg_database where datname = current_database())`

test('meet lets both requests wait, and then continue in their order', async () => {
  const answers = await meet(barrier, auditHeadOf(workspaceId), [rename('First'), rename('Second')])
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.name]),
    [
      [200, 'First'],
      [200, 'Second'],
    ],
  )
})

test('meet fails at once if a request is answered before it waits, and releases its locks', async () => {
  for (const [requests, message] of [
    [
      [refused, rename('Third')],
      /^Error: request 1 was answered before it waited: 503 {"code":"unavailable"}$/,
    ],
    [[rename('Fourth'), refused], /^Error: request 2 was answered before it waited: 503 /],
  ] as const) {
    await assert.rejects(meet(barrier, auditHeadOf(workspaceId), requests), message)
    assert.deepEqual(await query(locks), [])
  }
})

test('meet fails at once with the error of a request that fails before it waits', async () => {
  const lost = new Error('connection lost')
  await assert.rejects(
    meet(barrier, auditHeadOf(workspaceId), [() => Promise.reject(lost)]),
    (error: Error) => error.message === 'request 1 failed before it waited' && error.cause === lost,
  )
})

test('A wait with another cause does not count as a request at the barrier', async () => {
  const [holder, waiter] = [new pg.Client(harness.connection), new pg.Client(harness.connection)]
  await Promise.all([holder.connect(), waiter.connect()])
  try {
    await holder.query('select pg_advisory_lock(7)')
    const elsewhere = waiter.query('select pg_advisory_lock(7)')
    await barrier.hold(...auditHeadOf(workspaceId))
    let reached = false
    const waiting = barrier.untilWaiting(1).then(() => {
      reached = true
    })
    await sleep(100)
    assert.equal(reached, false)
    const renamed = rename('Fifth')()
    await waiting
    await barrier.release()
    assert.equal((await renamed).status, 200)
    await holder.query('select pg_advisory_unlock(7)')
    await elsewhere
  } finally {
    await Promise.all([holder.end(), waiter.end()])
  }
})
