import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, type TestContext, test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { fingerprintA, newScope, openCalls } from '../../test/idempotency-calls.ts'
import { openTestLanes } from '../../test/stores.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import type { Claim } from './claims.ts'
import type { End, Ending } from './ends.ts'
import { type Idempotency, openIdempotency } from './service.ts'
import { openStoredBytes } from './stored-bytes.ts'

const harness = await startHarness()
const { query } = harness
const impatient = await harness.startImpatient()
const vendor = await makeVendor(harness)
const { claim, complete, release, heartbeat } = openCalls(harness.ask, vendor.live)

/** Locks a record from another session. @returns a function that unlocks it. */
async function hold(context: TestContext, scope: string): Promise<() => Promise<unknown>> {
  const own = new pg.Client(harness.connection)
  await own.connect()
  context.after(() => own.end())
  await own.query('begin')
  const { rowCount } = await own.query('select from idempotency_claims where scope_hash = $1 for update', [
    Buffer.from(scope, 'hex'),
  ])
  assert.equal(rowCount, 1)
  return () => own.query('rollback')
}
const claimNew = async () => {
  const scope = newScope()
  return { scope, token: String((await claim(scope)).lock_token) }
}
const verdictsOf = (heard: readonly { verdict: string }[]) => heard.map(({ verdict }) => verdict)
const inLane = 'AAAA'.repeat(4_000)
const inPool = 'AAAA'.repeat(50_000)

for (const [name, end, verdict] of [
  ['a heartbeat', heartbeat, 'extended'],
  ['a release', release, 'released'],
  ['a small completion', complete, 'completed'],
  ['a larger completion', (s: string, t: string) => complete(s, t, { body: inLane }), 'completed'],
  ['a large completion', (s: string, t: string) => complete(s, t, { body: inPool }), 'completed'],
] as const) {
  test(`${name} of a locked record waits for the lock, all others in the batch do not`, async context => {
    const held = await claimNew()
    const others = await Promise.all([1, 2, 3, 4].map(claimNew))
    const letGo = await hold(context, held.scope)
    let isAnswered = false
    const first = end(held.scope, held.token).finally(() => {
      isAnswered = true
    })
    first.catch(() => {})
    const [a, b, c, d] = others as [typeof held, typeof held, typeof held, typeof held]
    const heard = await Promise.all([
      heartbeat(a.scope, a.token),
      release(b.scope, b.token),
      complete(c.scope, c.token),
      complete(d.scope, d.token, { body: inLane }),
    ])
    assert.deepEqual(verdictsOf(heard), ['extended', 'released', 'completed', 'completed'])
    assert.equal(isAnswered, false)
    await letGo()
    assert.equal((await first).verdict, verdict)
  })
}

test('a record that stays locked past the deadline is answered 503 and not changed', async context => {
  const { scope, token } = await claimNew()
  const row = () =>
    query('select to_jsonb(c) from idempotency_claims c where scope_hash = $1', [Buffer.from(scope, 'hex')])
  const before = await row()
  const letGo = await hold(context, scope)
  const body = { scope_hash: scope, env: 'live', lock_token: token }
  const asked = (name: string, more: object) =>
    impatient.ask('POST', `/v1/idempotency/${name}`, { token: vendor.live, body: { ...body, ...more } })
  const heard = await Promise.all([
    asked('heartbeat', {}),
    asked('release', {}),
    asked('complete', { status: 200 }),
    asked('complete', { status: 200, body: inPool }),
  ])
  for (const { status, body } of heard) assert.deepEqual([status, body.code], [503, 'unavailable'])
  await letGo()
  assert.deepEqual(await row(), before)
  assert.equal((await complete(scope, token)).verdict, 'completed')
})

test('a claim that takes over a locked record waits for the lock, other claims do not', async context => {
  const { scope } = await claimNew()
  await harness.setStoreTime(new Date(Date.now() + 31_000))
  context.after(() => harness.setStoreTime(null))
  const letGo = await hold(context, scope)
  let isAnswered = false
  const first = claim(scope).finally(() => {
    isAnswered = true
  })
  const heard = await Promise.all([1, 2, 3].map(() => claim(newScope())))
  assert.deepEqual(verdictsOf(heard), ['execute', 'execute', 'execute'])
  assert.equal(isAnswered, false)
  await letGo()
  assert.equal((await first).verdict, 'execute')
})

/** The lanes of one process of the service. */
function openProcess() {
  const lanes = openTestLanes(harness.connection)
  const storedBytes = openStoredBytes(new Errands(harness.connection), 1e9, systemClock, harness.deps.log)
  after(() => lanes.close())
  return { ...openIdempotency(lanes, storedBytes), close: lanes.close }
}
/** Each round is a statement, so this bounds a hang and nothing else. */
const roundsMost = 10_000
const untilSettled = async (lanes: Idempotency, end: End): Promise<Ending['verdict']> => {
  for (let rounds = 0; rounds < roundsMost; rounds += 1) {
    const { verdict } = await lanes.ends.run(end)
    if (verdict !== 'raced') return verdict
  }
  throw new Error('other transactions keep the record')
}
const deadlocks = async (): Promise<number> => {
  // Postgres counts a backend's deadlocks when that backend ends, if not before.
  const haveEnded = async () => {
    const [row] = await query(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and application_name = 'keyrail lanes writes'`,
    )
    return row.n === 0
  }
  await until(haveEnded, 'the backends have ended')
  const [row] = await query('select deadlocks from pg_stat_database where datname = current_database()')
  return Number(row.deadlocks)
}

test('batches of two processes in opposite orders end without a deadlock', async () => {
  await Promise.all([harness, impatient].map(({ deps }) => deps.lanes.close()))
  // Shorter than a lane waits for a lock, so that Postgres reports a circle as a deadlock.
  await query(
    `do $$ begin execute format('alter database %I set deadlock_timeout = 20', current_database()); end $$`,
  )
  const before = await deadlocks()
  const processes = [openProcess(), openProcess()]
  const completion = { status: 200, ttlMs: null, headers: '{}', body: Buffer.alloc(0), bytes: 2 }
  const larger = { ...completion, body: Buffer.alloc(5_000), bytes: 5_002 }
  for (let round = 0; round < 40; round++) {
    const claims: Claim[] = Array.from({ length: 60 }, () => ({
      workspaceId: vendor.workspaceId,
      env: 'live',
      scopeHash: newScope(),
      fingerprint: fingerprintA,
      lockToken: randomBytes(24).toString('base64url'),
      ttlMs: 86_400_000,
    }))
    await Promise.all(claims.map(one => processes[0]?.claims.run(one)))
    const said = processes.flatMap((lanes, process) =>
      claims.map(async (one, i) => {
        // The first part of the one process's batch is the last part of the other's.
        const kinds: End[] = [
          { ...one, kind: 'complete', completion },
          { ...one, kind: 'heartbeat' },
          { ...one, kind: 'complete', completion: larger },
          { ...one, kind: 'heartbeat' },
        ]
        return await untilSettled(lanes, kinds[(i + process) % 4] as End)
      }),
    )
    const verdicts = await Promise.all(said)
    for (const i of claims.keys()) {
      const pair = [verdicts[i], verdicts[i + claims.length]].toSorted().join()
      assert.ok(['completed,extended', 'completed,lost'].includes(pair), pair)
    }
  }
  await Promise.all(processes.map(lanes => lanes.close()))
  assert.equal(await deadlocks(), before)
})
