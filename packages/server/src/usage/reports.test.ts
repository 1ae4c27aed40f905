import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { type Counted, makeFleet } from '../../test/usage-fleet.ts'

const harness = await startHarness()
const { ask, query, setStoreTime } = harness
const fleet = await makeFleet(harness)
const { report, daysOf, newKey, live, test: testToken } = fleet

const now = new Date('2030-03-10T12:30:00.000Z')
const hourMs = 3_600_000
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString()
const at = (key_id: string, hour: string | Date = now, count = 1): Counted => ({
  key_id,
  hour: new Date(hour).toISOString(),
  count,
})
beforeEach(() => setStoreTime(now))

test('a report is applied once and always answered the same, whatever a repeat contains', async () => {
  const key = await newKey()
  const id = randomUUID()
  const first = [at(key, now, 5), at(randomUUID())]
  assert.deepEqual(await report(first, { id }), [1, 1])
  assert.deepEqual(await report(first, { id }), [1, 1])
  assert.deepEqual(await report([at(key, now, 70)], { id, rate: 0.5 }), [1, 1])
  assert.deepEqual(await report([at(key, now, 70)], { id: id.toUpperCase() }), [1, 1])
  assert.equal((await daysOf(key)).total, 5)
})

test('the same id names different reports in other workspaces and environments', async () => {
  const other = await makeFleet(harness)
  const id = randomUUID()
  const [mine, mineOfTest, theirs] = [await newKey(), await newKey({ env: 'test' }), await other.newKey()]
  assert.deepEqual(await report([at(mine)], { id }), [1, 0])
  assert.deepEqual(await report([at(mineOfTest)], { id, token: testToken }), [1, 0])
  assert.deepEqual(await other.report([at(theirs)], { id }), [1, 0])
  assert.deepEqual([(await daysOf(mineOfTest)).total, (await other.daysOf(theirs)).total], [1, 1])
})

test('keys of another workspace are ignored like keys that do not exist', async () => {
  const other = await makeFleet(harness)
  const theirs = await other.newKey()
  assert.deepEqual(await report([at(theirs), at(randomUUID()), at(fleet.tenantId)]), [0, 3])
  assert.equal((await other.daysOf(theirs)).total, 0)
  const [row] = await query('select last_used_at from api_keys where id = $1', [theirs])
  assert.equal(row.last_used_at, null)
})

test('a test credential reports test keys only, a live one both', async () => {
  const [ofLive, ofTest] = [await newKey(), await newKey({ env: 'test' })]
  assert.deepEqual(await report([at(ofLive), at(ofTest)], { token: testToken }), [1, 1])
  assert.deepEqual(await report([at(ofLive), at(ofTest)]), [2, 0])
  assert.deepEqual([(await daysOf(ofLive)).total, (await daysOf(ofTest)).total], [1, 2])
})

test('an hour is accepted from 5 minutes before it begins and for 7 days, by the store’s clock', async () => {
  const key = await newKey()
  const isTaken = async (hour: string, storeTime: string) => {
    await setStoreTime(new Date(storeTime))
    return (await report([at(key, hour)]))[0] === 1
  }
  // The clock of the process does not matter.
  harness.clock.set(0)
  assert.equal(await isTaken('2030-03-03T12:59:59.999Z', '2030-03-10T12:00:00.000Z'), true)
  assert.equal(await isTaken('2030-03-03T12:59:59.999Z', '2030-03-10T12:00:00.001Z'), false)
  assert.equal(await isTaken('2030-03-10T13:00:00.000Z', '2030-03-10T12:54:59.999Z'), false)
  assert.equal(await isTaken('2030-03-10T13:00:00.000Z', '2030-03-10T12:55:00.000Z'), true)
  assert.equal(await isTaken('2030-03-10T13:59:59.999Z', '2030-03-10T12:55:00.000Z'), true)
  for (const farAway of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
    assert.equal(await isTaken(farAway, '2030-03-10T12:00:00.000Z'), false)
})

test('records of one key and hour add up, whatever minute and offset they give', async () => {
  const key = await newKey()
  const records = ['2030-03-10T10:00:00Z', '2030-03-10T10:59:59.999Z', '2030-03-10T16:15:00+05:45'].map(
    hour => ({ key_id: key, hour, count: 2 }),
  )
  assert.deepEqual(
    await report([...records, { ...at(key.toUpperCase(), now, 2), hour: '2030-03-10T10:30:00Z' }]),
    [4, 0],
  )
  const rows = await query('select hour, requests from usage_hours where key_id = $1', [key])
  assert.deepEqual(
    rows.map(({ hour, requests }) => [hour.toISOString(), Number(requests)]),
    [['2030-03-10T10:00:00.000Z', 8]],
  )
})

test('the sum of a thousand sampled reports is exact, in any order', async () => {
  const key = await newKey()
  const rates = [0.0001, 0.1, 0.3, 0.7, 0.9999, 1]
  const send = (rate: number) => report([at(key, now, 1)], { rate })
  for (let i = 0; i < 30; i++) await Promise.all(rates.map(send))
  const expected = rates.reduce((sum, rate) => sum + 30 / rate, 0)
  assert.equal((await daysOf(key)).total, Math.round(expected))
  const thirds = await newKey()
  await Promise.all(Array.from({ length: 300 }, () => report([at(thirds, now, 1)], { rate: 0.3 })))
  assert.equal((await daysOf(thirds)).total, 1_000)
})

test('the largest reports fit in a body, and their sum may exceed a bigint', async () => {
  const key = await newKey()
  const records = Array.from({ length: 1_000 }, () => ({
    key_id: key,
    hour: `2030-03-10T12:30:00.${'0'.repeat(9)}+00:00`,
    count: 1_000_000_000,
  }))
  assert.deepEqual(await report(records, { rate: 0.0001 }), [1_000, 0])
  assert.equal((await daysOf(key)).total, 1e16)
  await query('update usage_hours set requests = requests * 100000 where key_id = $1', [key])
  await query('update usage_months set requests = requests * 100000')
  assert.equal((await daysOf(key)).total, 1e21)
  assert.ok((await fleet.tenants()).some(row => Number(row.request_count) >= 1e21))
})

test('the last use of a key is now or the end of the reported hour, and never moves back', async () => {
  const key = await newKey()
  const lastUsed = async () => (await ask('GET', `/v1/keys/${key}`, { token: live })).body.last_used_at
  const [before] = await query(
    'select policy_heads.version, (select count(*) from audit_logs) as rows from policy_heads where project_id = $1',
    [fleet.projectId],
  )
  assert.equal(await lastUsed(), null)
  await report([at(key, '2030-03-09T10:00:00Z'), at(key, '2030-03-08T10:00:00Z')])
  assert.equal(await lastUsed(), '2030-03-09T11:00:00.000Z')
  await report([at(key, '2030-03-09T08:00:00Z')])
  assert.equal(await lastUsed(), '2030-03-09T11:00:00.000Z')
  await report([at(key, now)])
  assert.equal(await lastUsed(), now.toISOString())
  await setStoreTime(new Date(now.getTime() - 60_000))
  await report([at(key, now)])
  assert.equal(await lastUsed(), now.toISOString())
  await setStoreTime(new Date('2030-03-10T12:58:00.000Z'))
  await report([at(key, '2030-03-10T13:00:00Z')])
  assert.equal(await lastUsed(), '2030-03-10T12:58:00.000Z')
  const [after] = await query(
    'select policy_heads.version, (select count(*) from audit_logs) as rows from policy_heads where project_id = $1',
    [fleet.projectId],
  )
  assert.deepEqual(after, before)
})

test('requests before a revocation are counted when they are reported after it', async () => {
  const key = await newKey()
  await ask('POST', `/v1/keys/${key}/revoke`, { token: live })
  assert.deepEqual(await report([at(key, ago(hourMs), 3)]), [1, 0])
  assert.equal((await daysOf(key)).total, 3)
})

test('a value out of bounds is refused by its path, and the report id stays unused', async () => {
  const key = await newKey()
  const good = { report_id: randomUUID(), sample_rate: 1, records: [at(key)] }
  const cases: [object, string][] = [
    [{ sample_rate: 0.00009 }, 'sample_rate'],
    [{ sample_rate: 1.0001 }, 'sample_rate'],
    [{ sample_rate: '1' }, 'sample_rate'],
    [{ report_id: 'x' }, 'report_id'],
    [{ records: [] }, 'records'],
    [{ records: Array.from({ length: 1_001 }, () => at(key)) }, 'records'],
    [{ records: [at(key), { ...at(key), count: 0 }] }, 'records.1.count'],
    [{ records: [{ ...at(key), count: 1_000_000_001 }] }, 'records.0.count'],
    [{ records: [{ ...at(key), count: 1.5 }] }, 'records.0.count'],
    [{ records: [{ ...at(key), hour: '2030-02-29T00:00:00Z' }] }, 'records.0.hour'],
    [{ records: [{ ...at(key), hour: '2030-03-10T12:00:00' }] }, 'records.0.hour'],
    [{ records: [{ ...at(key), key_id: 'x' }] }, 'records.0.key_id'],
    [{ records: [{ ...at(key), env: 'live' }] }, 'records.0.env'],
    [{ env: 'live' }, 'env'],
  ]
  for (const [change, path] of cases) {
    const { status, body } = await ask('POST', '/v1/usage/reports', {
      token: live,
      body: { ...good, ...change },
    })
    assert.deepEqual([status, body.errors?.[0].path], [400, path], JSON.stringify(body))
  }
  assert.deepEqual(await report(good.records, { id: good.report_id }), [1, 0])
})
