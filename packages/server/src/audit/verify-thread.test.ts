import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startHarness } from '../../test/harness.ts'
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

test('a store that is not there is told as unavailable', async () => {
  const nowhere = openVerifyThread({ ...harness.connection, host: '127.0.0.1', port: 1 })
  await assert.rejects(nowhere.verify(workspaceId), isUnavailable)
})

test('a connection lost in the middle of a run is told as unavailable, and the next run succeeds', async () => {
  await locker.query('begin')
  await locker.query('lock table audit_logs')
  const run = assert.rejects(thread.verify(workspaceId), isUnavailable)
  for (let cut = 0; cut === 0; await setTimeout(5)) {
    const killed = await harness.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'keyrail audit chain' and datname = current_database() and wait_event_type = 'Lock'`,
    )
    cut = killed.length
  }
  await run
  await locker.query('rollback')
  assert.equal((await thread.verify(workspaceId)).valid, true)
})

test('a chain that waits in vain for a lock is told as unavailable', async () => {
  await locker.query('begin')
  await locker.query('lock table audit_logs')
  await assert.rejects(thread.verify(workspaceId), isUnavailable)
  await locker.query('rollback')
})

test('runs of several workspaces at once each get their own answer, one that has no chain too', async () => {
  const other = await makeVendor(harness)
  const none = randomUUID()
  const [first, second, third] = await Promise.all([workspaceId, other.workspaceId, none].map(thread.verify))
  assert.equal(first?.valid, true)
  assert.equal(second?.valid, true)
  assert.notEqual(first?.head_hash, second?.head_hash)
  assert.deepEqual([third?.valid, third?.checked, third?.head_seq], [false, 0, null])
})
