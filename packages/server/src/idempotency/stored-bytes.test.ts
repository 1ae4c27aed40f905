import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { newScope, openCalls } from '../../test/idempotency-calls.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { openStoredBytes } from './stored-bytes.ts'
import { pruneStoredBytes } from './upkeep.ts'

const limit = 100_000
const harness = await startHarness({ maxStoredAnswerBytesPerWorkspace: limit })
const { query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)
const answer = { body: randomBytes(9_000).toString('base64') }

const answerOf = async (token: string) => {
  const calls = openCalls(harness.ask, token)
  const scope = newScope()
  const { lock_token } = await calls.claim(scope)
  assert.equal((await calls.complete(scope, lock_token, answer)).verdict, 'completed')
  return await calls.claim(scope)
}

test('a workspace beyond its bytes completes requests without replay, others keep theirs', async () => {
  const verdicts: string[] = []
  for (let i = 0; i < 15; i++) verdicts.push((await answerOf(vendor.live)).verdict)
  assert.deepEqual(verdicts, [...Array(10).fill('replay'), ...Array(5).fill('not_replayable')])
  const { verdict, status } = await answerOf(vendor.live)
  assert.deepEqual([verdict, status], ['not_replayable', 200])
  assert.equal((await answerOf(other.live)).verdict, 'replay')
  assert.match(
    await harness.deps.metrics.text(),
    /keyrail_workspace_limit_ratio\{limit="stored_answer_bytes"\} 0\.9/,
  )
})

test('what one process stores counts in another process too, until its hour is over', async () => {
  const { storedBytes } = harness.deps.idempotency
  await storedBytes.flush()
  await storedBytes.flush()
  const sum = async () =>
    (
      await query('select sum(bytes) from idempotency_stored where workspace_id = $1', [vendor.workspaceId])
    )[0].sum
  assert.equal(Number(await sum()), 10 * (9_512 + 2))

  const elsewhere = openStoredBytes(harness.connection, limit, systemClock, harness.deps.log)
  elsewhere.add(vendor.workspaceId, 4_000, 60_000)
  await until(() => !elsewhere.hasRoom(vendor.workspaceId, 1_000), 'the bytes of the other process are known')
  assert.equal(elsewhere.hasRoom(other.workspaceId, 9_000), true)
  await elsewhere.close()

  await query(`update idempotency_stored set ends_at = service_now() where workspace_id = $1`, [
    vendor.workspaceId,
  ]).catch(() => query(`delete from idempotency_stored where workspace_id = $1`, [vendor.workspaceId]))
  await doChores(harness.connection, [pruneStoredBytes], harness.deps.log)
  assert.equal(await sum(), null)
  const fresh = openStoredBytes(harness.connection, limit, systemClock, harness.deps.log)
  fresh.add(vendor.workspaceId, 4_000, 60_000)
  assert.equal(fresh.hasRoom(vendor.workspaceId, 90_000), true)
  await fresh.close()
})

test('bytes that could not be written are written later', async () => {
  const third = await makeVendor(harness)
  const warned: unknown[] = []
  const own = openStoredBytes(harness.connection, limit, systemClock, {
    warn: (...line: unknown[]) => void warned.push(line),
  } as never)
  await query('alter table idempotency_stored rename to elsewhere')
  own.add(third.workspaceId, 1_000, 60_000)
  await own.flush()
  await query('alter table elsewhere rename to idempotency_stored')
  assert.equal(warned.length, 1)
  await own.close()
  const [row] = await query('select bytes from idempotency_stored where workspace_id = $1', [
    third.workspaceId,
  ])
  assert.equal(row.bytes, 1_512)
})
