import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { startHarness } from '../../../test/harness.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { Refusal } from '../refusal.ts'
import { connect, sql } from './connection.ts'
import { type Db, openDb } from './pool.ts'

const harness = await startHarness({ databasePool: 20 })
const { ask, connection } = harness
const flooder = await makeVendor(harness)
const other = await makeVendor(harness)
/** A pool of its own for each test: who was about in the last second would have a say in the next. */
function openOwn(context: TestContext): Db {
  const db = openDb(connection, 20, { announce() {} }, { deadlockRetried() {} })
  context.after(() => db.close())
  return db
}

const one = sql('test.one', 'select 1')
const none = { waiting: 0, parties: 0 }
const lineOf = ({ depth }: Db) => {
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
  const db = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === 10)
  assert.deepEqual(lineOf(db), { waiting: 30, parties: 1 })
  const rows = await db.inWorkspace(other.workspaceId, tx => tx.query(one))
  assert.equal(rows.length, 1)
  assert.equal(flood.inside, 10)
  flood.release()
  const settled = await flood.settled
  assert.ok(settled.every(({ status }) => status === 'fulfilled'))
  assert.deepEqual(lineOf(db), none)
})

test('beside somebody else a flood has a tenth of the connections', async context => {
  const db = openOwn(context)
  await db.inWorkspace(other.workspaceId, tx => tx.query(one))
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === 2)
  assert.deepEqual(lineOf(db), { waiting: 38, parties: 1 })
  flood.release()
  await flood.settled
})

test('a stranger who asks leaves everybody as many connections as they had', async context => {
  const db = openOwn(context)
  await db.forStranger('192.0.2.1').asPerson(randomUUID(), tx => tx.query(one))
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 40)
  await until(() => flood.inside === 10)
  flood.release()
  await flood.settled
})

test('people count by themselves, whatever they ask about', async context => {
  const db = openOwn(context)
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

test('strangers share a tenth, in which networks take turns; who has proved who they are leaves it', async context => {
  const db = openOwn(context)
  const flood = hold(work => db.forStranger('192.0.2.1').asPerson(randomUUID(), work), 64)
  await until(() => flood.inside === 2)
  assert.deepEqual(lineOf(db), { waiting: 62, parties: 1 })
  const elsewhere = hold(work => db.forStranger('192.0.2.2').asPerson(randomUUID(), work), 1)
  const signedIn = db.forStranger('192.0.2.1').asPerson(randomUUID(), tx => tx.query(one), { isProven: true })
  assert.equal((await signedIn).length, 1)
  assert.equal(
    (await db.forService('codehost').inWorkspace(other.workspaceId, tx => tx.query(one))).length,
    1,
  )
  assert.deepEqual([flood.inside, elsewhere.inside], [2, 0])
  elsewhere.release()
  flood.release()
  await elsewhere.settled
  await flood.settled
  assert.deepEqual(lineOf(db), none)
})

test('who waits beyond the deadline is answered 503, and leaves no place taken', async context => {
  const db = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 10)
  await until(() => flood.inside === 10)
  const late = db.until(performance.now() + 50)
  await assert.rejects(
    late.inWorkspace(flooder.workspaceId, tx => tx.query(one)),
    isUnavailable,
  )
  assert.deepEqual(lineOf(db), none)
  flood.release()
  await flood.settled
  const again = hold(work => db.inWorkspace(flooder.workspaceId, work), 10)
  await until(() => again.inside === 10)
  again.release()
  await again.settled
})

test('beyond 500 of one workspace none waits, and is told when to come back', async context => {
  const db = openOwn(context)
  const flood = hold(work => db.inWorkspace(flooder.workspaceId, work), 510)
  await until(() => flood.inside === 10)
  await assert.rejects(
    db.inWorkspace(flooder.workspaceId, tx => tx.query(one)),
    error => isUnavailable(error) && (error as Refusal).headers['retry-after'] === '1',
  )
  assert.equal((await db.inWorkspace(other.workspaceId, tx => tx.query(one))).length, 1)
  flood.release()
  await flood.settled
  assert.deepEqual(lineOf(db), none)
})

test('works that may take a minute go one at a time in one name, and another’s beside it', async context => {
  const db = openOwn(context)
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

test('64 resets that hang leave connections for everybody else', async () => {
  const locker: pg.Client = await connect(connection, 'test', false)
  try {
    await locker.query('begin; lock table mail_throttles in access exclusive mode')
    const resets = Array.from({ length: 64 }, (_, i) =>
      ask('POST', '/v1/auth/password_resets', { body: { email: `nobody-${i}@example.com` } }),
    )
    await until(() => harness.deps.db.depth().waiting >= 62)
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
