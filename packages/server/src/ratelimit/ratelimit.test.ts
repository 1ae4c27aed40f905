import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { parseList } from 'structured-headers'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { graceMs } from './store.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const moment = 1_790_000_000_000
await harness.setStoreTime(new Date(moment))

const rule = (over: object = {}) => ({
  id: 'burst',
  limit: 3,
  window_ms: 60_000,
  algorithm: 'fixed',
  scope: 'key',
  ...over,
})

async function check(over: object = {}, token = vendor.live) {
  const body = { project_id: vendor.projectId, env: 'live', key_id: randomUUID(), limits: [rule()], ...over }
  return await ask('POST', '/v1/ratelimit/check', { token, body })
}

test('a verdict has what is left, until when, and the headers to send on', async () => {
  const limits = [
    rule(),
    rule({ id: '1-day', limit: 1_000, window_ms: 86_400_000, algorithm: 'sliding', scope: 'tenant' }),
  ]
  const key_id = randomUUID()
  const { status, body } = await check({ key_id, limits })
  assert.equal(status, 200)
  const toMinute = 60_000 - (moment % 60_000)
  const toMidnight = 86_400_000 - (moment % 86_400_000)
  assert.deepEqual(body, {
    object: 'ratelimit_check',
    allowed: true,
    cost: 1,
    denied_by: [],
    retry_after_ms: null,
    limits: [
      { ...limits[0], allowed: true, remaining: 2, reset_ms: toMinute },
      { ...limits[1], allowed: true, remaining: 999, reset_ms: toMidnight },
    ],
    headers: {
      'RateLimit-Policy': '"burst";q=3;w=60, "1-day";q=1000;w=86400',
      RateLimit: `"burst";r=2;t=${Math.ceil(toMinute / 1000)}, "1-day";r=999;t=${Math.ceil(toMidnight / 1000)}`,
    },
  })
  const parsed = parseList(body.headers.RateLimit).map(([id, of]) => [
    id,
    (of as Map<string, number>).get('r'),
  ])
  assert.deepEqual(parsed, [
    ['burst', 2],
    ['1-day', 999],
  ])
})

test('a denial is a 200 with the exceeded limits and the time to retry, and charges nothing', async () => {
  const key_id = randomUUID()
  const wide = rule({ id: 'wide', limit: 100 })
  for (let i = 0; i < 3; i++) assert.equal((await check({ key_id })).body.allowed, true)
  const { status, body } = await check({ key_id, limits: [rule(), wide] })
  const wait = 60_000 - (moment % 60_000)
  assert.equal(status, 200)
  assert.deepEqual(
    [body.allowed, body.denied_by, body.retry_after_ms, body.headers['Retry-After']],
    [false, ['burst'], wait, String(Math.ceil(wait / 1000))],
  )
  assert.deepEqual(
    body.limits.map((limit: Record<string, unknown>) => [limit.allowed, limit.remaining]),
    [
      [false, 0],
      [true, 100],
    ],
  )
})

test('a cost above the limit never passes, and its retry time is null', async () => {
  const { body } = await check({ cost: 4 })
  assert.deepEqual([body.allowed, body.retry_after_ms, body.headers['Retry-After']], [false, null, undefined])
  assert.equal(body.limits[0].remaining, 3)
})

test('a check of cost 0 passes at the limit with nothing remaining, and writes no row', async () => {
  const key_id = randomUUID()
  const before = await query('select count(*) from rate_counters')
  assert.equal((await check({ key_id, cost: 0 })).body.limits[0].remaining, 3)
  assert.deepEqual(await query('select count(*) from rate_counters'), before)
  await check({ key_id, cost: 3 })
  const { body } = await check({ key_id, cost: 0 })
  assert.deepEqual([body.allowed, body.limits[0].remaining, body.retry_after_ms], [true, 0, null])
})

test('an upper-case id names the same counter', async () => {
  const key_id = randomUUID()
  await check({ key_id, cost: 2 })
  const { body } = await check({
    key_id: key_id.toUpperCase(),
    project_id: vendor.projectId.toUpperCase(),
    cost: 0,
  })
  assert.equal(body.limits[0].remaining, 1)
})

test('a check with ids of another workspace leaves its counters untouched', async () => {
  const other = await makeVendor(harness)
  const key_id = randomUUID()
  await check({ project_id: other.projectId, key_id, cost: 3 }, other.live)
  const forged = await check({ project_id: other.projectId, key_id })
  assert.equal(forged.body.limits[0].remaining, 2)
  assert.equal(
    (await check({ project_id: other.projectId, key_id, cost: 0 }, other.live)).body.limits[0].remaining,
    0,
  )
})

test('a test credential counts in test, and no field lets it count in live', async () => {
  const key_id = randomUUID()
  assert.equal((await check({ key_id }, vendor.test)).body.code, 'env_mismatch')
  assert.equal((await check({ key_id, env: 'test', cost: 3 }, vendor.test)).body.allowed, true)
  assert.equal((await check({ key_id, env: 'test' })).body.allowed, false)
  assert.equal((await check({ key_id })).body.limits[0].remaining, 2)
})

test('a check writes no audit row and does not wait for locks on the workspace or audit head', async () => {
  const rows = await query('select count(*) from audit_logs')
  await query('begin')
  try {
    await query('select seq from audit_heads where workspace_id = $1 for update', [vendor.workspaceId])
    await query('select id from workspaces where id = $1 for update', [vendor.workspaceId])
    assert.equal((await check()).status, 200)
  } finally {
    await query('rollback')
  }
  assert.deepEqual(await query('select count(*) from audit_logs'), rows)
})

test('rows whose counters no longer count are deleted', async () => {
  const { pruneCounters } = await import('./room.ts')
  const pg = await import('pg')
  const client = new pg.default.Client(harness.connection)
  await client.connect()
  try {
    await check({ limits: [rule({ window_ms: 1_000 })] })
    const rows = async () => (await query('select count(*) as rows from rate_counters'))[0].rows
    const before = await rows()
    await harness.setStoreTime(new Date(moment + 2_000 + graceMs + 1_000))
    await pruneCounters.run(client)
    assert.equal(await rows(), before - 1)
  } finally {
    await client.end()
    await harness.setStoreTime(new Date(moment))
  }
})
