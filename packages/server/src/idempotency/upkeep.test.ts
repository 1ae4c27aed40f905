import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { newScope, openCalls } from '../../test/idempotency-calls.ts'
import { makeVendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneBodies, pruneClaims } from './upkeep.ts'

const harness = await startHarness()
const { query } = harness
const vendor = await makeVendor(harness)
const { claim, complete } = openCalls(harness.ask, vendor.live)
const upkeep = () => doChores(harness.connection, [pruneClaims, pruneBodies], harness.deps.log)

const start = new Date('2030-01-01T10:30:00.000Z').getTime()
const at = (ms: number) => harness.setStoreTime(new Date(start + ms))
const hour = 3_600_000

const left = async (scope: string) => {
  const rows = (table: string) =>
    query(`select from ${table} where scope_hash = $1`, [Buffer.from(scope, 'hex')])
  return [(await rows('idempotency_claims')).length, (await rows('idempotency_bodies')).length]
}
async function answered(ttlMs: number): Promise<string> {
  const scope = newScope()
  const { lock_token } = await claim(scope, { ttl_ms: ttlMs })
  await complete(scope, lock_token, { body: 'AAAA' })
  return scope
}

const holder = new pg.Client(harness.connection)
// The database may be dropped before the connection is closed.
holder.on('error', () => {})
before(() => holder.connect())
after(() => holder.end())

test('a record that is over is deleted within the hour; one with time or a lock left stays', async () => {
  await at(0)
  const over = await answered(60_000)
  const kept = await answered(2 * hour)
  const running = newScope()
  await claim(running, { ttl_ms: 60_000 })
  await at(59_999)
  await upkeep()
  assert.deepEqual(await left(over), [1, 1])
  await at(60_000)
  await upkeep()
  assert.deepEqual(await left(over), [1, 0])
  assert.equal((await claim(over)).verdict, 'execute', 'its body is deleted as soon as no claim can read it')

  const again = await answered(60_000)
  await at(hour / 2)
  await query(`update idempotency_claims set locked_until = service_now() + interval '1 second'
    where status is null`)
  await upkeep()
  assert.deepEqual(
    [await left(again), await left(kept), await left(running)],
    [
      [0, 0],
      [1, 1],
      [1, 0],
    ],
  )
  await at(hour / 2 + 1_000)
  await upkeep()
  assert.deepEqual(
    [await left(running), await left(kept)],
    [
      [0, 0],
      [1, 1],
    ],
  )
  assert.equal((await claim(kept)).verdict, 'replay')
  await harness.setStoreTime(null)
})

test('the body of a replaced claim is deleted when it expires, the body of its successor is not', async () => {
  await at(0)
  const scope = await answered(60_000)
  await at(60_000)
  const { lock_token } = await claim(scope)
  assert.deepEqual(await left(scope), [1, 1])
  await upkeep()
  assert.deepEqual(await left(scope), [1, 0])
  await complete(scope, lock_token, { body: 'BBBB' })
  await upkeep()
  assert.equal((await claim(scope)).response.body, 'BBBB')
  await harness.setStoreTime(null)
})

test('locked rows are skipped, and deleted the next time', async () => {
  await at(0)
  const [held, free] = [await answered(60_000), await answered(60_000)]
  await at(hour)
  await holder.query('begin')
  await holder.query('select from idempotency_claims where scope_hash = $1 for update', [
    Buffer.from(held, 'hex'),
  ])
  await upkeep()
  assert.deepEqual(
    [await left(held), await left(free)],
    [
      [1, 0],
      [0, 0],
    ],
  )
  await holder.query('rollback')
  await upkeep()
  assert.deepEqual(await left(held), [0, 0])
  await harness.setStoreTime(null)
})
