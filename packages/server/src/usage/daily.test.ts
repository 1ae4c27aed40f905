import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { type Fleet, makeFleet } from '../../test/usage-fleet.ts'
import { makeProject } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneUsageDays } from './room.ts'
import { listDaily } from './sql.ts'

const harness = await startHarness()
const { ask, query } = harness
await harness.setStoreTime(new Date('2030-03-10T12:30:00.000Z'))

const read = async (fleet: Fleet, filter = '', token = fleet.live) =>
  (await ask('GET', `/v1/usage/daily?${filter}`, { token })).body
/** The total, and the days that are not empty. */
async function daysOf(fleet: Fleet, filter = '', token = fleet.live) {
  const { total, data } = await read(fleet, filter, token)
  const used = data.filter((day: { request_count: number }) => day.request_count > 0)
  return [
    total,
    Object.fromEntries(used.map((day: Record<string, unknown>) => [day.date, day.request_count])),
  ]
}
const one = (key_id: string, hour: string, count: number) => ({ key_id, hour, count })

/** A fleet with keys of two tenants in two projects, in both environments. */
async function makeUsed() {
  const fleet = await makeFleet(harness)
  const [project, tenant] = [(await makeProject(harness, fleet)).id, await fleet.newTenant()]
  const keys = {
    plain: await fleet.newKey(),
    test: await fleet.newKey({ env: 'test' }),
    ofTenant: await fleet.newKey({ tenant_id: tenant }),
    ofBoth: await fleet.newKey({ tenant_id: tenant, project_id: project }),
  }
  await fleet.report([
    one(keys.plain, '2030-03-09T23:59:59Z', 1),
    one(keys.plain, '2030-03-10T00:00:00Z', 10),
    one(keys.test, '2030-03-10T01:00:00Z', 100),
    one(keys.ofTenant, '2030-03-10T01:00:00Z', 1_000),
    one(keys.ofBoth, '2030-03-08T12:00:00Z', 10_000),
  ])
  return { fleet, project, tenant, keys }
}

test('requests are counted by UTC day, for the workspace and for each filter alone or together', async () => {
  const { fleet, project, tenant } = await makeUsed()
  const [d8, d9, d10] = ['2030-03-08', '2030-03-09', '2030-03-10'] as [string, string, string]
  for (const [filter, total, days] of [
    ['', 11_111, { [d8]: 10_000, [d9]: 1, [d10]: 1_110 }],
    ['env=live', 11_011, { [d8]: 10_000, [d9]: 1, [d10]: 1_010 }],
    ['env=test', 100, { [d10]: 100 }],
    [`project_id=${project}`, 10_000, { [d8]: 10_000 }],
    [`project_id=${fleet.projectId}&env=live`, 1_011, { [d9]: 1, [d10]: 1_010 }],
    [`tenant_id=${tenant}`, 11_000, { [d8]: 10_000, [d10]: 1_000 }],
    [`tenant_id=${tenant}&project_id=${project}`, 10_000, { [d8]: 10_000 }],
    [`tenant_id=${tenant}&project_id=${project}&env=test`, 0, {}],
    ['days=1', 1_110, { [d10]: 1_110 }],
    ['days=2&env=live', 1_011, { [d9]: 1, [d10]: 1_010 }],
  ] as const)
    assert.deepEqual([filter, ...(await daysOf(fleet, filter))], [filter, total, days])
})

test('every day of the span is there, today last, empty ones as 0', async () => {
  const fleet = await makeFleet(harness)
  for (const [filter, count, first] of [
    ['', 30, '2030-02-09'],
    ['days=1', 1, '2030-03-10'],
    ['days=90', 90, '2029-12-11'],
  ] as const) {
    const { object, days, total, data } = await read(fleet, filter)
    assert.deepEqual([object, days, total, data.length], ['daily_usage', count, 0, count])
    assert.deepEqual(data[0], { date: first, request_count: 0 })
    assert.deepEqual(data.at(-1), { date: '2030-03-10', request_count: 0 })
  }
})

test('a tenant is named by its external id too, and an unknown one has no requests', async () => {
  const { fleet, tenant } = await makeUsed()
  const { body } = await ask('GET', `/v1/tenants/${tenant}`, { token: fleet.live })
  assert.deepEqual(
    await daysOf(fleet, `external_id=${body.external_id}`),
    await daysOf(fleet, `tenant_id=${tenant}`),
  )
  for (const filter of ['external_id=unknown', `tenant_id=${randomUUID()}`, `project_id=${randomUUID()}`])
    assert.deepEqual(await daysOf(fleet, filter), [0, {}], filter)
  // These stand for all in the table, and are the id of nothing.
  const all = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
  for (const filter of [`tenant_id=${all}`, `project_id=${all}`, `tenant_id=${all}&project_id=${all}`])
    assert.deepEqual(await daysOf(fleet, filter), [0, {}], filter)
  const both = await ask('GET', `/v1/usage/daily?tenant_id=${tenant}&external_id=x`, { token: fleet.live })
  assert.deepEqual([both.status, both.body.errors[0].path], [400, 'external_id'])
})

test('a test credential reads requests of test alone', async () => {
  const { fleet } = await makeUsed()
  assert.deepEqual(await daysOf(fleet, '', fleet.test), [100, { '2030-03-10': 100 }])
  assert.equal((await read(fleet, 'env=live', fleet.test)).code, 'env_mismatch')
})

test('sampled requests are added up before they are rounded, and a repeated report adds none', async () => {
  const fleet = await makeFleet(harness)
  const key = await fleet.newKey()
  const id = randomUUID()
  for (let i = 0; i < 2; i++) await fleet.report([one(key, '2030-03-10T01:00:00Z', 1)], { id, rate: 0.3 })
  for (let i = 0; i < 2; i++) await fleet.report([one(key, '2030-03-10T02:00:00Z', 1)], { rate: 0.3 })
  assert.deepEqual(await daysOf(fleet), [10, { '2030-03-10': 10 }])
})

test('a figure says that it is estimated where a part of it was sampled, and only there', async () => {
  const fleet = await makeFleet(harness)
  const { live } = fleet
  const [whole, sampled, later] = [await fleet.newKey(), await fleet.newKey(), await fleet.newKey()]
  const other = await fleet.newKey({ tenant_id: await fleet.newTenant() })
  const hour = '2030-03-10T01:00:00Z'
  await fleet.report([one(whole, hour, 2), one(other, hour, 2)])
  const estimatedOf = async (path: string) => (await ask('GET', path, { token: live })).body.estimated
  assert.equal(await estimatedOf('/v1/usage/daily'), false)
  await fleet.report([one(sampled, '2030-03-08T01:00:00Z', 1)], { rate: 0.5 })
  await fleet.report([one(sampled, '2030-03-08T01:00:00Z', 1)])
  // A sampled part makes what was counted before it an estimate, too.
  await fleet.report([one(later, hour, 1)])
  await fleet.report([one(later, hour, 1)], { rate: 0.999 })
  for (const [key, expected] of [
    [whole, false],
    [sampled, true],
    [later, true],
    [other, false],
  ] as const)
    assert.equal(await estimatedOf(`/v1/keys/${key}/usage`), expected)
  assert.equal(await estimatedOf(`/v1/keys/${sampled}/usage?days=1`), false, 'not on that day')
  assert.equal(await estimatedOf('/v1/usage/daily'), true)
  assert.equal(await estimatedOf(`/v1/usage/daily?tenant_id=${fleet.tenantId}`), true)
  assert.equal(await estimatedOf('/v1/usage/daily?env=test'), false)
  const months = await fleet.tenants()
  assert.deepEqual(
    months.map(({ tenant_id, estimated }) => [tenant_id === fleet.tenantId, estimated]).toSorted(),
    [
      [false, false],
      [true, true],
    ],
  )
  const { requests } = (await ask('GET', '/v1/overview', { token: live })).body
  assert.equal(requests.estimated, true)
})

test('days are deleted after 91 days, and the hours remain', async () => {
  const { fleet, keys } = await makeUsed()
  const count = async () => Number((await query('select count(*) as n from usage_days'))[0].n)
  const upkeep = () => doChores(harness.connection, [pruneUsageDays], harness.deps.log)
  await query('delete from usage_days where workspace_id <> $1', [fleet.workspaceId])
  const before = await count()
  await harness.setStoreTime(new Date('2030-06-07T23:59:59.999Z'))
  await upkeep()
  assert.equal(await count(), before)
  await harness.setStoreTime(new Date('2030-06-08T00:00:00.000Z'))
  await upkeep()
  assert.equal(await count(), before - 3)
  const [{ n }] = await query('select count(*) as n from usage_hours where key_id = $1', [keys.ofBoth])
  assert.equal(Number(n), 1)
  await harness.setStoreTime(new Date('2030-03-10T12:30:00.000Z'))
})

test('the migration adds up what was reported before it', async () => {
  const { fleet } = await makeUsed()
  const rows = () =>
    query(
      'select env, tenant_id, project_id, day::text, requests::text from usage_days where workspace_id = $1 order by 1, 2, 3, 4',
      [fleet.workspaceId],
    )
  const before = await rows()
  await query('delete from usage_days')
  const text = readFileSync(new URL('../../migrations/0032_usage_days.sql', import.meta.url), 'utf8')
  await query(text.slice(text.indexOf('insert into usage_days')))
  assert.deepEqual(await rows(), before)
})

test('a figure reads at most a row for each day and project, however many tenants there are', async () => {
  const { fleet, project, tenant } = await makeUsed()
  await query(
    `insert into usage_days (workspace_id, env, tenant_id, project_id, day, requests)
     select case when n % 2 = 0 then $1 else gen_random_uuid() end, 'live', gen_random_uuid(), $2, '2030-03-09', 1
     from generate_series(1, 5000) n`,
    [fleet.workspaceId, project],
  )
  for (const state of ['before statistics', 'with statistics']) {
    // More often than Postgres plans each time, so that the plan that it keeps is tested too.
    for (let i = 0; i < 8; i++)
      for (const [tenantId, projectId] of [
        [null, null],
        [tenant, null],
        [null, project],
        [tenant, project],
      ] as const) {
        const read = await harness.db.inWorkspace(fleet.workspaceId, tx =>
          rowsRead(tx, 'usage_days', () =>
            listDaily(tx, { envs: ['live', 'test'], tenantId, projectId, days: 90 }),
          ),
        )
        // The row counts twice if a bitmap finds it.
        assert.ok(read >= 1 && read <= 8, `${tenantId} ${projectId} ${state} read ${read}`)
      }
    await query('vacuum analyze usage_days')
  }
})
