import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsSoFar } from '../../test/rows-read.ts'
import { type Fleet, makeFleet } from '../../test/usage-fleet.ts'
import { makeProject } from '../../test/vendor.ts'
import { readTopUsage, type TopFilter } from './tops.ts'

const harness = await startHarness()
const { ask, query } = harness
await harness.setStoreTime(new Date('2030-03-10T12:30:00.000Z'))
const hour = '2030-03-10T12:00:00Z'

const read = async (fleet: Fleet, filter = '', token = fleet.live) =>
  (await ask('GET', `/v1/usage/top?${filter}`, { token })).body
const countsOf = async (fleet: Fleet, filter = '') => {
  const { data, exact } = await read(fleet, filter)
  const rows = data.map(({ id, request_count }: Record<string, unknown>) => [id, request_count])
  return { rows, exact }
}

test('tenants, projects and keys come by their requests, the most first, within each filter', async () => {
  const fleet = await makeFleet(harness)
  const { projectId, tenantId } = fleet
  const [project, tenant] = [(await makeProject(harness, fleet)).id, await fleet.newTenant()]
  const [first, second] = [await fleet.newKey({ name: 'First' }), await fleet.newKey()]
  const third = await fleet.newKey({ tenant_id: tenant, project_id: project })
  const trial = await fleet.newKey({ env: 'test' })
  await fleet.newKey({ name: 'Unused' })
  await fleet.report([
    { key_id: first, hour: '2030-03-08T12:00:00Z', count: 10 },
    { key_id: first, hour, count: 10 },
    { key_id: second, hour, count: 15 },
    { key_id: trial, hour, count: 7 },
  ])
  await fleet.report([{ key_id: third, hour, count: 9 }], { rate: 0.3 })
  // What a key was used for stays in the ranking when it is revoked.
  const revoked = await ask('POST', `/v1/keys/${second}/revoke`, { token: fleet.live, body: {} })
  assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
  for (const [filter, rows] of [
    [
      '',
      [
        [tenantId, 35],
        [tenant, 30],
      ],
    ],
    ['by=tenant&most=1', [[tenantId, 35]]],
    [
      'by=tenant&days=1',
      [
        [tenant, 30],
        [tenantId, 25],
      ],
    ],
    ['by=tenant&env=test', [[tenantId, 7]]],
    [`by=tenant&project_id=${project}`, [[tenant, 30]]],
    [
      'by=project',
      [
        [projectId, 35],
        [project, 30],
      ],
    ],
    [`by=project&tenant_id=${tenant}`, [[project, 30]]],
    [
      'by=key',
      [
        [third, 30],
        [first, 20],
        [second, 15],
      ],
    ],
    [
      'by=key&most=2',
      [
        [third, 30],
        [first, 20],
      ],
    ],
    [
      `by=key&tenant_id=${tenantId}`,
      [
        [first, 20],
        [second, 15],
      ],
    ],
    [`by=key&project_id=${project}`, [[third, 30]]],
    [`by=key&project_id=${project}&tenant_id=${tenantId}`, []],
  ] as const)
    assert.deepEqual([filter, await countsOf(fleet, filter)], [filter, { rows, exact: true }])
  const { data } = await read(fleet, 'by=key')
  assert.deepEqual(
    data.map(({ estimated }: { estimated: boolean }) => estimated),
    [true, false, false],
  )
  const { id, key } = data[1]
  const { body } = await ask('GET', `/v1/keys/${first}`, { token: fleet.live })
  assert.deepEqual(
    [id, key],
    [
      first,
      { name: 'First', display_prefix: body.display_prefix, tenant_id: tenantId, project_id: projectId },
    ],
  )
})

test('what was used before the span is not there, though its month is', async () => {
  const fleet = await makeFleet(harness)
  const old = await fleet.newKey()
  await fleet.report([{ key_id: old, hour: '2030-03-08T23:59:59Z', count: 1_000 }])
  for (const by of ['tenant', 'project', 'key'])
    assert.deepEqual(await countsOf(fleet, `by=${by}&days=2`), { rows: [], exact: true }, by)
  assert.deepEqual(await countsOf(fleet, 'by=key&days=3'), { rows: [[old, 1_000]], exact: true })
})

test('the most used are named to those who may see the overview, and to no test credential', async () => {
  const fleet = await makeFleet(harness)
  assert.equal((await read(fleet, '', fleet.test)).code, 'live_credential_required')
  assert.equal((await read(fleet, 'by=nothing')).code, 'validation_failed')
})

/** Tenants with a project and a key each, of which each has one request less than the one before. */
const fillTenants = (fleet: Fleet, count: number) =>
  query(
    `with made as (select gen_random_uuid() as tenant, gen_random_uuid() as key, n from generate_series(1, $2::int) n),
     months as (insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
       select $1, '2030-03-01', tenant, $3, 'live', $2 + 1 - n from made),
     days as (insert into usage_days (workspace_id, env, tenant_id, project_id, day, requests)
       select $1, 'live', tenant, $3, '2030-03-10'::date, $2 + 1 - n from made),
     hours as (insert into usage_hours (workspace_id, key_id, hour, requests)
       select $1, key, '2030-03-10T12:00:00Z', $2 + 1 - n from made),
     tenants as (insert into tenants (workspace_id, id, external_id, created_at, updated_at)
       select $1, tenant, 'filled-' || n, now(), now() from made)
     insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, idle_since, created_at, updated_at)
     select $1, key, $3, tenant, 'live', 'kr_live_abcd', sha256(key::text::bytea), now(), now(), now() from made`,
    [fleet.workspaceId, count, fleet.projectId],
  )

test('many tenants are ranked exactly, and a figure that cannot know says so', async () => {
  const fleet = await makeFleet(harness)
  await fillTenants(fleet, 300)
  for (const by of ['tenant', 'key']) {
    const { rows, exact } = await countsOf(fleet, `by=${by}&most=3`)
    assert.deepEqual([rows.map(([, count]: number[]) => count), exact], [[300, 299, 298], true], by)
  }
  // Requests of the month before the span: who comes after these tenants in the month may come before them in the span.
  await query(`update usage_months set requests = requests + 1000 where workspace_id = $1`, [
    fleet.workspaceId,
  ])
  for (const by of ['tenant', 'key']) {
    const { rows, exact } = await countsOf(fleet, `by=${by}&most=3`)
    assert.deepEqual([rows.map(([, count]: number[]) => count), exact], [[300, 299, 298], false], by)
  }
})

test('a ranking reads a bounded number of rows, however many tenants, keys and days there are', async () => {
  const fleet = await makeFleet(harness)
  await fillTenants(fleet, 25_000)
  await query(
    `insert into usage_days (workspace_id, env, tenant_id, project_id, day, requests)
     select $1, 'live', tenant_id, gen_random_uuid(), '2029-12-12'::date + n, 1
     from (select tenant_id from usage_months where workspace_id = $1 limit 300) t cross join generate_series(1, 80) n`,
    [fleet.workspaceId],
  )
  await query(
    `insert into usage_hours (workspace_id, key_id, hour, requests)
     select $1, gen_random_uuid(), '2030-03-10T12:00:00Z', 1 from generate_series(1, 20000)`,
    [fleet.workspaceId],
  )
  const most = { usage_months: 20_001, usage_days: 50 * 31, usage_hours: 100 * 720, api_keys: 2 * 20 * 201 }
  const filter = { env: 'live', days: 30, projectId: null, tenantId: null, most: 5 } as const
  for (const state of ['before statistics', 'with statistics']) {
    // More often than Postgres plans each time, so that the plan that it keeps is tested too.
    for (const by of ['tenant', 'project', 'key'] as const)
      for (let i = 0; i < 7; i++) await readWithin({ ...filter, by }, state)
    for (const table of Object.keys(most)) await query(`vacuum analyze ${table}`)
  }
  async function readWithin(by: TopFilter, state: string): Promise<void> {
    await harness.db.inWorkspace(fleet.workspaceId, async tx => {
      const tables = Object.entries(most)
      const before = await Promise.all(tables.map(([table]) => rowsSoFar(tx, table)))
      await readTopUsage(tx, by)
      for (const [at, [table, bound]] of tables.entries()) {
        const rows = (await rowsSoFar(tx, table)) - (before[at] ?? 0)
        assert.ok(rows <= bound, `${by.by} ${state} read ${rows} of ${table}`)
      }
    })
  }
})
