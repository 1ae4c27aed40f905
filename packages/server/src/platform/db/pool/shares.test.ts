import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { startHarness } from '../../../../test/harness.ts'
import { openTestPool } from '../../../../test/stores.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import { Refusal } from '../../refusal.ts'
import { connect, sql } from '../connection.ts'
import { type Db, unbound } from '../db.ts'
import type { Pool } from './pool.ts'
import { createShares } from './shares.ts'

const harness = await startHarness({ databasePool: 20 })
const { ask, connection } = harness
const flooder = await makeVendor(harness)
const other = await makeVendor(harness)
/** A separate pool for each test, because names that were active in the last second affect the next turns. */
function openOwn(context: TestContext) {
  const pool = openTestPool(connection, 20)
  context.after(() => pool.close())
  return { pool, db: pool.bind(unbound) }
}
const forStranger = (pool: Pool, ip: string): Db => pool.bind({ ...unbound, party: { kind: 'stranger', ip } })
const forService = (pool: Pool): Db => pool.bind({ ...unbound, party: { kind: 'service', name: 'codehost' } })

/** What a name holds of twenty connections beside others, on this machine. */
const few = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)))
const one = sql('test.one', 'select 1')
const none = { waiting: 0, parties: 0 }
const waitingOf = ({ depth }: Pool) => {
  const { waiting, parties } = depth()
  return { waiting, parties }
}
const until = async (holds: () => boolean | Promise<boolean>) => {
  while (!(await holds())) await setImmediate()
}
/** Works that hold their connections until they are let go. */
function hold(start: (work: () => Promise<void>) => Promise<void>, count: number) {
  const release = Promise.withResolvers<void>()
  const held = {
    inside: 0,
    settled: Promise.resolve<PromiseSettledResult<void>[]>([]),
    release: release.resolve,
  }
  const work = () => {
    held.inside += 1
    return release.promise
  }
  held.settled = Promise.allSettled(Array.from({ length: count }, () => start(work)))
  return held
}
const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'

test('a workspace that floods holds half of the connections, and another is served beside it', async context => {
  const { pool, db } = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === 10)
  assert.deepEqual(waitingOf(pool), { waiting: 30, parties: 1 })
  const rows = await db.inWorkspace(other.workspaceId, tx => tx.query(one))
  assert.equal(rows.length, 1)
  assert.equal(flood.inside, 10)
  flood.release()
  const settled = await flood.settled
  assert.ok(settled.every(({ status }) => status === 'fulfilled'))
  assert.deepEqual(waitingOf(pool), none)
})

test('beside another workspace a flood gets few connections, fewer with few cores', async context => {
  const { pool, db } = openOwn(context)
  await db.inWorkspace(other.workspaceId, tx => tx.query(one))
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === few)
  assert.deepEqual(waitingOf(pool), { waiting: 40 - few, parties: 1 })
  for (const [connections, cores, places] of [
    [20, 1, 1],
    [20, 2, 1],
    [20, 4, 2],
    [20, 64, 2],
    [100, 8, 4],
    [2, 8, 1],
  ] as const) {
    const shares = createShares(connections, cores)
    shares.enter({ kind: 'party', name: 'other' }).end()
    const turns = Array.from({ length: 8 }, () => shares.enter({ kind: 'party', name: 'flooder' }))
    assert.equal(turns.filter(({ come }) => come === null).length, places, `${connections}, ${cores} cores`)
  }
  flood.release()
  await flood.settled
})

test('the service’s own work keeps its half beside a flood, so leak reports do not wait', async context => {
  const { pool, db } = openOwn(context)
  await db.inWorkspace(other.workspaceId, tx => tx.query(one))
  const codehost = forService(pool)
  const reported = hold(work => codehost.inWorkspace(flooder.workspaceId, work), 12)
  await until(() => reported.inside === 10)
  assert.deepEqual(waitingOf(pool), { waiting: 2, parties: 1 })
  reported.release()
  await reported.settled
})

test('an anonymous request takes no connection from a workspace', async context => {
  const { pool, db } = openOwn(context)
  await forStranger(pool, '192.0.2.1').asPerson(randomUUID(), tx => tx.query(one))
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === 10)
  flood.release()
  await flood.settled
})

test('each person has a separate share, whatever the workspace', async context => {
  const { db } = openOwn(context)
  const person = randomUUID()
  const flood = hold(work => db.asPerson(person, work), 20)
  await until(() => flood.inside === 10)
  const made = hold(work => db.inWorkspace(randomUUID(), work, { inNameOf: person }), 3)
  await db.asPerson(randomUUID(), tx => tx.query(one))
  assert.deepEqual([flood.inside, made.inside], [10, 0])
  made.release()
  flood.release()
  await Promise.all([flood.settled, made.settled])
})

test('strangers share a tenth, in which networks take turns; a proven person leaves it', async context => {
  const { pool } = openOwn(context)
  const flood = hold(work => forStranger(pool, '192.0.2.1').asPerson(randomUUID(), work), 64)
  await until(() => flood.inside === 2)
  assert.deepEqual(waitingOf(pool), { waiting: 62, parties: 1 })
  const elsewhere = hold(work => forStranger(pool, '192.0.2.2').asPerson(randomUUID(), work), 1)
  const signedIn = forStranger(pool, '192.0.2.1').asPerson(randomUUID(), tx => tx.query(one), {
    isProven: true,
  })
  assert.equal((await signedIn).length, 1)
  assert.equal((await forService(pool).inWorkspace(other.workspaceId, tx => tx.query(one))).length, 1)
  assert.deepEqual([flood.inside, elsewhere.inside], [2, 0])
  elsewhere.release()
  flood.release()
  await elsewhere.settled
  await flood.settled
  assert.deepEqual(waitingOf(pool), none)
})

test('a stranger waits for one network of a site with many, and not for all', async () => {
  const shares = createShares(20, 2)
  const enter = (network: number) =>
    shares.enter({ kind: 'stranger', ip: `2001:db8:1:${network.toString(16)}::1` })
  const flood = Array.from({ length: 102 }, (_, network) => enter(network))
  assert.equal(shares.depth().waiting, 100)
  assert.throws(() => enter(102), { code: 'too_many_in_flight' })
  const other = shares.enter({ kind: 'stranger', ip: '2001:db8:2::1' })
  for (const holding of flood.slice(0, 2)) holding.end()
  await other.come
})

test('a caller that waits beyond the deadline gets 503, and its place is free again', async context => {
  const { pool, db } = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 10)
  await until(() => flood.inside === 10)
  const late = db.by(new Deadline(50))
  await assert.rejects(
    late.inWorkspace(flooder.workspaceId, tx => tx.query(one)),
    isUnavailable,
  )
  assert.deepEqual(waitingOf(pool), none)
  flood.release()
  await flood.settled
  const again = hold(work => db.inWorkspace(flooder.workspaceId, work), 10)
  await until(() => again.inside === 10)
  again.release()
  await again.settled
})

test('the 501st waiting caller of a workspace gets 429 with Retry-After', async context => {
  const { pool, db } = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 510)
  await until(() => flood.inside === 10)
  await assert.rejects(
    db.inWorkspace(flooder.workspaceId, tx => tx.query(one)),
    error =>
      error instanceof Refusal && error.code === 'too_many_in_flight' && error.headers['retry-after'] === '1',
  )
  assert.equal((await db.inWorkspace(other.workspaceId, tx => tx.query(one))).length, 1)
  flood.release()
  await flood.settled
  assert.deepEqual(waitingOf(pool), none)
})

test('long works run one at a time in a name, and beside those of another', async context => {
  const { db } = openOwn(context)
  const cascade = { longWorkMs: 60_000 }
  const first = hold(work => db.inWorkspace(flooder.workspaceId, work, cascade), 2)
  await until(() => first.inside === 1)
  const beside = hold(work => db.inWorkspace(other.workspaceId, work, cascade), 1)
  await until(() => beside.inside === 1)
  assert.equal((await db.inWorkspace(flooder.workspaceId, tx => tx.query(one))).length, 1)
  assert.equal(first.inside, 1)
  first.release()
  beside.release()
  const settled = await Promise.all([first.settled, beside.settled])
  assert.ok(settled.flat().every(({ status }) => status === 'fulfilled'))
  assert.equal(first.inside, 2)
})

test('64 hanging resets leave connections for other callers', async () => {
  const locker: pg.Client = await connect(connection, 'test', false)
  try {
    await locker.query('begin; lock table mail_throttles in access exclusive mode')
    const resets = Array.from({ length: 64 }, (_, i) =>
      ask('POST', '/v1/auth/password_resets', { body: { email: `nobody-${i}@example.com` } }),
    )
    await until(() => harness.deps.pool.depth().waiting >= 62)
    const made = await ask('POST', '/v1/tenants', {
      token: other.live,
      body: { external_id: 'beside the flood' },
    })
    assert.equal(made.status, 201)
    await locker.query('rollback')
    for (const { status } of await Promise.all(resets)) assert.ok(status === 202 || status === 503)
  } finally {
    await locker.end()
  }
})
