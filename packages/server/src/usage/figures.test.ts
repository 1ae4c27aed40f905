import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { type Counted, makeFleet } from '../../test/usage-fleet.ts'

const harness = await startHarness()
const { ask, setStoreTime } = harness
const at = (key_id: string, hour: string, count = 1): Counted => ({ key_id, hour, count })
const clock = (time: string) => setStoreTime(new Date(time))
const read = (token: string, url: string) => ask('GET', url, { token })

test('a key shows every UTC day of the span, today last, and the total of these days', async () => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  await clock('2028-03-02T23:30:00.000Z')
  await fleet.report(
    ['2028-02-28T23:59:59Z', '2028-02-29T00:00:00Z', '2028-02-29T23:59:59Z', '2028-03-01T00:30:00+01:00'].map(
      hour => at(key, hour),
    ),
    { rate: 0.4 },
  )
  await fleet.report([at(key, '2028-03-02T23:30:00Z', 9)])
  const { body } = await read(fleet.live, `/v1/keys/${key}/usage?days=5`)
  assert.deepEqual(body, {
    object: 'key_usage',
    key_id: key,
    days: 5,
    // 2.5 and 7.5: sums are rounded when they are shown.
    total: 3 + 8 + 9,
    estimated: true,
    data: [
      { date: '2028-02-27', request_count: 0 },
      { date: '2028-02-28', request_count: 3 },
      { date: '2028-02-29', request_count: 8 },
      { date: '2028-03-01', request_count: 0 },
      { date: '2028-03-02', request_count: 9 },
    ],
  })
  assert.deepEqual((await fleet.daysOf(key, 1)).days, { '2028-03-02': 9 })
  await clock('2028-03-03T00:00:00.000Z')
  assert.deepEqual((await fleet.daysOf(key, 1)).days, {})
  for (const [days, shown] of [
    ['', 30],
    ['?days=90', 90],
  ] as const)
    assert.equal((await read(fleet.live, `/v1/keys/${key}/usage${days}`)).body.data.length, shown)
})

test('an hour in the future is shown as soon as its day or its month has begun', async () => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  await clock('2029-12-31T23:55:00.000Z')
  assert.deepEqual(await fleet.report([at(key, '2030-01-01T00:00:00Z')]), [1, 0])
  assert.equal((await fleet.daysOf(key)).total, 0)
  assert.deepEqual(await fleet.billing(1), [['2029-12-01', 0]])
  assert.deepEqual(await fleet.tenants(), [])
  await clock('2030-01-01T00:00:00.000Z')
  assert.equal((await fleet.daysOf(key)).total, 1)
  assert.deepEqual(await fleet.billing(2), [
    ['2029-12-01', 0],
    ['2030-01-01', 1],
  ])
})

test('a month ends at midnight UTC, whatever offset a report gives', async () => {
  const fleet = await makeFleet(harness)
  const [first, second] = [await fleet.newKey(), await fleet.newKey({ tenant_id: await fleet.newTenant() })]
  await clock('2028-03-01T01:00:00.000Z')
  await fleet.report([at(first, '2028-02-29T23:59:59.999Z'), at(second, '2028-03-01T00:00:00Z')])
  // Already March by its offset, and still February in UTC.
  await fleet.report([at(second, '2028-03-01T01:59:59+02:00')])
  assert.deepEqual(await fleet.billing(3), [
    ['2028-01-01', 0],
    ['2028-02-01', 2],
    ['2028-03-01', 1],
  ])
})

test('a tenant is billed once a month over all its keys and projects, for live requests only', async () => {
  const fleet = await makeFleet(harness)
  const project = await ask('POST', '/v1/projects', {
    token: fleet.live,
    body: { name: 'Second', slug: `second-${randomUUID()}` },
  })
  const tester = await fleet.newTenant()
  const [a, b, c, d, e] = [
    await fleet.newKey(),
    await fleet.newKey(),
    await fleet.newKey({ project_id: project.body.id }),
    await fleet.newKey({ env: 'test' }),
    await fleet.newKey({ env: 'test', tenant_id: tester }),
  ]
  await fleet.newKey({ tenant_id: await fleet.newTenant() })
  await clock('2028-04-30T23:00:00.000Z')
  assert.deepEqual(await fleet.billing(1), [['2028-04-01', 0]])
  await fleet.report([a, b, c, d, e].map((key, i) => at(key, '2028-04-30T22:00:00Z', 10 ** i)))
  assert.deepEqual(await fleet.billing(1), [['2028-04-01', 1]])
  const rows = await fleet.tenants()
  const row = (tenant_id: string, project_id: string, env: string, request_count: number) => ({
    month: '2028-04-01',
    tenant_id,
    project_id,
    env,
    request_count,
    estimated: false,
  })
  const [own, second] = [fleet.projectId, project.body.id]
  assert.deepEqual(rows, [
    row(tester, own, 'test', 10_000),
    row(fleet.tenantId, second, 'live', 100),
    row(fleet.tenantId, own, 'test', 1_000),
    row(fleet.tenantId, own, 'live', 11),
  ])
  assert.deepEqual(await fleet.tenants('env=live'), [rows[1], rows[3]])
  assert.deepEqual(await fleet.tenants('env=test'), [rows[0], rows[2]])
})

test('a deleted tenant is billed for its months, also for usage that is reported late', async () => {
  const fleet = await makeFleet(harness)
  const tenant = await fleet.newTenant()
  const key = await fleet.newKey({ tenant_id: tenant })
  await clock('2028-01-31T12:00:00.000Z')
  await fleet.report([at(key, '2028-01-31T11:00:00Z', 2)])
  assert.equal((await ask('DELETE', `/v1/tenants/${tenant}`, { token: fleet.live })).status, 200)
  await clock('2028-02-01T00:30:00.000Z')
  assert.deepEqual(await fleet.report([at(key, '2028-01-31T23:00:00Z', 3)]), [1, 0])
  await clock('2028-03-15T12:00:00.000Z')
  assert.deepEqual(await fleet.billing(3), [
    ['2028-01-01', 1],
    ['2028-02-01', 0],
    ['2028-03-01', 0],
  ])
  assert.deepEqual(
    (await fleet.tenants('months=3')).map(({ tenant_id, request_count }) => [tenant_id, request_count]),
    [[tenant, 5]],
  )
})

test('each of 24 months is shown, in order', async () => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  const months = Array.from({ length: 25 }, (_, i) =>
    new Date(Date.UTC(2026, i, 1)).toISOString().slice(0, 10),
  )
  for (const month of months) {
    await clock(`${month}T05:00:00.000Z`)
    await fleet.report([at(key, `${month}T04:00:00Z`)])
  }
  assert.deepEqual(
    await fleet.billing(24),
    months.slice(1).map(month => [month, 1]),
  )
  assert.deepEqual(
    (await fleet.tenants('months=24')).map(({ month }) => month),
    months.slice(1).toReversed(),
  )
  assert.equal((await fleet.billing()).length, 6)
  assert.equal((await fleet.tenants()).length, 1)
})

test('a span of tenants ends with the named month, whatever the clock says', async () => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  for (const month of ['2027-11', '2027-12', '2028-01', '2028-02']) {
    await clock(`${month}-20T05:00:00.000Z`)
    await fleet.report([at(key, `${month}-20T04:00:00Z`)])
  }
  const monthsOf = async (query: string) => (await fleet.tenants(query)).map(({ month }) => month)
  assert.deepEqual(await monthsOf('month=2028-01-01'), ['2028-01-01'])
  assert.deepEqual(await monthsOf('month=2028-01-01&months=2'), ['2028-01-01', '2027-12-01'])
  await clock('2028-03-01T00:00:00.000Z')
  assert.deepEqual(await monthsOf('month=2028-02-01'), ['2028-02-01'])
  assert.deepEqual(await monthsOf(''), [])
  assert.deepEqual(await monthsOf('month=9999-12-01'), [])
  const { body } = await read(fleet.live, '/v1/usage/tenants?month=2028-02-01&months=3&limit=1')
  const rest = await read(
    fleet.live,
    `/v1/usage/tenants?month=2028-02-01&months=3&cursor=${body.next_cursor}`,
  )
  assert.deepEqual(
    [...body.data, ...rest.body.data].map(({ month }) => month),
    ['2028-02-01', '2028-01-01', '2027-12-01'],
  )
})

test('pages list every row exactly once while rows are added', async () => {
  const fleet = await makeFleet(harness)
  const project = await ask('POST', '/v1/projects', {
    token: fleet.live,
    body: { name: 'Second', slug: `second-${randomUUID()}` },
  })
  for (const month of ['2028-01', '2028-02', '2028-03']) {
    await clock(`${month}-20T05:00:00.000Z`)
    for (const env of ['live', 'test'])
      for (const project_id of [fleet.projectId, project.body.id])
        for (const tenant_id of [fleet.tenantId, await fleet.newTenant()])
          await fleet.report([
            at(await fleet.newKey({ env, project_id, tenant_id }), `${month}-20T04:00:00Z`),
          ])
  }
  const all = await fleet.tenants('months=3&limit=200')
  assert.equal(all.length, 24)
  const seen: unknown[] = []
  for (let cursor = ''; ; ) {
    const { body } = await read(fleet.live, `/v1/usage/tenants?months=3&limit=5${cursor}`)
    seen.push(...body.data)
    if (!body.has_more) break
    cursor = `&cursor=${body.next_cursor}`
    const tenant_id = await fleet.newTenant()
    await fleet.report([at(await fleet.newKey({ tenant_id }), '2028-03-20T04:00:00Z')])
  }
  assert.deepEqual(seen, all)
})

test('a cursor of another workspace or list is refused, naming the field', async () => {
  const [fleet, other] = [await makeFleet(harness), await makeFleet(harness)]
  await clock('2028-03-20T05:00:00.000Z')
  for (let i = 0; i < 2; i++)
    await other.report([
      at(await other.newKey({ tenant_id: await other.newTenant() }), '2028-03-20T04:00:00Z'),
    ])
  const { next_cursor } = (await read(other.live, '/v1/usage/tenants?limit=1')).body
  for (const cursor of [next_cursor, 'x', `${next_cursor}A`]) {
    const { status, body } = await read(fleet.live, `/v1/usage/tenants?cursor=${cursor}`)
    assert.deepEqual([status, body.errors?.[0].path], [400, 'cursor'])
  }
})

test('a test credential reads the usage of test keys only, and no billing', async () => {
  const fleet = await makeFleet(harness)
  const [live, test] = [await fleet.newKey(), await fleet.newKey({ env: 'test' })]
  const readCode = async (url: string) => {
    const { status, body } = await read(fleet.test, url)
    return [status, body.code]
  }
  assert.deepEqual(await readCode(`/v1/keys/${test}/usage`), [200, undefined])
  assert.deepEqual(await readCode(`/v1/keys/${live}/usage`), [404, 'not_found'])
  for (const url of ['/v1/usage/billing', '/v1/usage/tenants', '/v1/usage/tenants?env=test'])
    assert.deepEqual(await readCode(url), [403, 'live_credential_required'])
  assert.equal((await read(fleet.test, '/v1/usage/billing')).body.title, 'This needs a live credential')
})

test('a person may read usage and may not report it', async () => {
  const fleet = await makeFleet(harness)
  const { token } = await makePerson(harness.query, { workspaceId: fleet.workspaceId, role: 'member' })
  for (const url of ['/v1/usage/billing', '/v1/usage/tenants', `/v1/keys/${await fleet.newKey()}/usage`])
    assert.equal((await read(token, url)).status, 200)
  const { status, body } = await ask('POST', '/v1/usage/reports', { token, body: {} })
  assert.deepEqual([status, body.code], [403, 'credential_not_accepted'])
})
