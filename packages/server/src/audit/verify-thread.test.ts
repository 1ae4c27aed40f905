import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { connect } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'
import { openVerifyThread } from './verify-thread.ts'

const harness = await startHarness()
const { workspaceId } = await makeVendor(harness)
const thread = openVerifyThread(harness.connection)
const locker = await connect(harness.connection, 'locker', false)
after(() => locker.end())

const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'

test('verification is unavailable when the database cannot be reached', async () => {
  const nowhere = openVerifyThread({ ...harness.connection, host: '127.0.0.1', port: 1 })
  await assert.rejects(nowhere.verify(workspaceId), isUnavailable)
})

test('a connection lost during a run is unavailable, and the next run succeeds', async () => {
  await locker.query('begin')
  await locker.query('lock table audit_logs')
  const run = assert.rejects(thread.verify(workspaceId), isUnavailable)
  const terminate = () =>
    harness.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'keyrail audit chain' and datname = current_database() and wait_event_type = 'Lock'`,
    )
  await until(async () => (await terminate()).length > 0, 'the run waits for the lock')
  await run
  await locker.query('rollback')
  assert.equal((await thread.verify(workspaceId)).valid, true)
})

test('verification is unavailable when it cannot get a lock in time', async () => {
  await locker.query('begin')
  await locker.query('lock table audit_logs')
  await assert.rejects(thread.verify(workspaceId), isUnavailable)
  await locker.query('rollback')
})

test('concurrent runs each return their own chain, also a workspace without one', async () => {
  const other = await makeVendor(harness)
  const none = randomUUID()
  const [first, second, third] = await Promise.all(
    [workspaceId, other.workspaceId, none].map(id => thread.verify(id)),
  )
  assert.equal(first?.valid, true)
  assert.equal(second?.valid, true)
  assert.notEqual(first?.head_hash, second?.head_hash)
  assert.deepEqual([third?.valid, third?.checked, third?.head_seq], [false, 0, null])
})
