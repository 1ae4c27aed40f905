import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { newScope, openCalls } from '../../test/idempotency-calls.ts'
import { until } from '../../test/until.ts'
import { makeProject, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { noProject, openStoredBytes } from './stored-bytes.ts'
import { pruneStoredBytes } from './upkeep.ts'

const limit = 100_000
const harness = await startHarness({ maxStoredAnswerBytesPerWorkspace: limit })
const { query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)
/** A credential that is not bound to a project stores here. */
const placeOf = (workspaceId: string) => ({ workspaceId, env: 'live', projectId: noProject })
const place = placeOf(vendor.workspaceId)
const answer = { body: randomBytes(9_000).toString('base64') }

const answerOf = async (token: string, env: 'live' | 'test' = 'live') => {
  const calls = openCalls(harness.ask, token)
  const scope = newScope()
  const { lock_token } = await calls.claim(scope, { env })
  assert.equal((await calls.complete(scope, lock_token, { ...answer, env })).verdict, 'completed')
  return await calls.claim(scope, { env })
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

test('neither test nor another project takes the room for the answers of a project', async () => {
  const own = await makeVendor(harness)
  const foreign = await makeProject(harness, own)
  const keyOf = async (projectId: string, env: 'live' | 'test') => {
    const { key } = await makeSecretKey(harness, own, { env, project_ids: [projectId] })
    return key as string
  }
  const [bound, boundElsewhere] = [await keyOf(own.projectId, 'live'), await keyOf(foreign.id, 'live')]
  for (let i = 0; i < 11; i++) {
    await answerOf(own.test, 'test')
    await answerOf(boundElsewhere)
  }
  assert.equal((await answerOf(own.test, 'test')).verdict, 'not_replayable')
  assert.equal((await answerOf(boundElsewhere)).verdict, 'not_replayable')
  assert.equal((await answerOf(bound)).verdict, 'replay')
  assert.equal((await answerOf(own.live)).verdict, 'replay')
})

test('what one process stores counts in another process too, until its hour is over', async () => {
  const { storedBytes } = harness.deps.idempotency
  await storedBytes.flush()
  await storedBytes.flush()
  const sum = async () =>
    (await query('select sum(bytes) from idempotency_held where workspace_id = $1', [vendor.workspaceId]))[0]
      .sum
  assert.equal(Number(await sum()), 10 * (9_512 + 2))

  const elsewhere = openStoredBytes(new Errands(harness.connection), limit, systemClock, harness.deps.log)
  elsewhere.add(place, 4_000, 60_000)
  await until(() => !elsewhere.hasQuota(place, 1_000), 'the bytes of the other process are known')
  assert.equal(elsewhere.hasQuota(placeOf(other.workspaceId), 9_000), true)
  await elsewhere.close()

  await query(`update idempotency_held set ends_at = service_now() where workspace_id = $1`, [
    vendor.workspaceId,
  ]).catch(() => query(`delete from idempotency_held where workspace_id = $1`, [vendor.workspaceId]))
  await doChores(harness.connection, [pruneStoredBytes], harness.deps.log)
  assert.equal(await sum(), null)
  const fresh = openStoredBytes(new Errands(harness.connection), limit, systemClock, harness.deps.log)
  fresh.add(place, 4_000, 60_000)
  assert.equal(fresh.hasQuota(place, 90_000), true)
  await fresh.close()
})

test('bytes that could not be written are written later', async () => {
  const third = await makeVendor(harness)
  const warned: unknown[] = []
  // So large that it counts nothing meanwhile.
  const own = openStoredBytes(new Errands(harness.connection), 1_000 * limit, systemClock, {
    warn: (...line: unknown[]) => void warned.push(line),
  } as never)
  await query('alter table idempotency_held rename to elsewhere')
  own.add(placeOf(third.workspaceId), 1_000, 60_000)
  await own.flush()
  await query('alter table elsewhere rename to idempotency_held')
  assert.equal(warned.length, 1)
  await own.close()
  const [row] = await query('select bytes from idempotency_held where workspace_id = $1', [third.workspaceId])
  assert.equal(row.bytes, 1_512)
})
