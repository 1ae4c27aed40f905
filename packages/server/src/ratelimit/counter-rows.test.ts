import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import { openCounterRows } from './counter-rows.ts'

const most = 32
const harness = await startHarness({ maxCountersPerWorkspace: most })
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

interface Asked {
  token?: string
  projectId?: string
  env?: 'live' | 'test'
  cost?: number
}

const check = (
  keyId: string,
  { token = vendor.live, projectId = vendor.projectId, env = 'live', cost = 1 }: Asked = {},
) =>
  harness.ask('POST', '/v1/ratelimit/check', {
    token,
    body: {
      project_id: projectId,
      env,
      key_id: keyId,
      cost,
      limits: [{ id: 'burst', limit: 100, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }],
    },
  })

const countRows = async (projectId: string, env = 'live') => {
  const [row] = await harness.query(
    'select count(*)::int as rows from rate_counters where project_id = $1 and env = $2',
    [projectId, env],
  )
  return row.rows
}

/** Real keys, whose counters are never dropped. */
const makeKeys = async (count: number, scene: Parameters<typeof issueKey>[1] = vendor, more = {}) => {
  const keys = await Promise.all(Array.from({ length: count }, () => issueKey(harness, scene, more)))
  return keys.map(({ id }) => id as string)
}

/**
 * Checks until the project is full. What is written during a count may be counted twice or not at all, until the next count,
 * which is seconds later. So a refusal alone does not mean that it is full.
 */
const fill = async (keys: readonly string[], asked: Asked & { projectId: string }) => {
  for (const key of keys) await check(key, asked)
  await until(
    async () =>
      (await check(randomUUID(), asked)).status === 409 &&
      (await countRows(asked.projectId, asked.env)) >= most,
    'a new counter is refused, of a project that is full',
  )
}

test('a project beyond its counters keeps the old and gets no new ones, others do', async () => {
  const keys = await makeKeys(40)
  const answers = await Promise.all(keys.map(key => check(key)))
  await fill(keys, { projectId: vendor.projectId })
  for (const { status, body } of answers)
    if (status !== 200) assert.deepEqual([status, body.code], [409, 'counter_limit_reached'])
  assert.ok(answers.some(({ status }) => status === 200))
  for (const [i, { status }] of answers.entries())
    if (status === 200) assert.ok((await check(keys[i] as string)).body.limits[0].remaining < 99)
  assert.equal(
    (await check(randomUUID(), { cost: 0 })).body.limits[0].remaining,
    100,
    'a check of cost 0 needs no row',
  )
  assert.equal((await check(randomUUID(), { token: other.live })).status, 200)
  await until(async () => {
    await check(randomUUID())
    return /keyrail_workspace_limit_ratio\{limit="counters"\} [1-9]/.test(await harness.deps.metrics.text())
  }, 'the metric says that the project is full')
})

test('a process counts the rows that other processes made', async () => {
  const rows = openCounterRows(new Errands(harness.connection), most, systemClock, harness.deps.log)
  const place = { workspaceId: vendor.workspaceId, env: 'live', projectId: vendor.projectId }
  rows.add(place, 1)
  await until(() => !rows.hasQuota(place, 1), 'the rows are counted')
  assert.equal(rows.hasQuota({ ...place, workspaceId: other.workspaceId }, 1), true)
  await rows.close()
})

test('neither a test key nor a key of another project takes the room of live checks', async () => {
  const own = await makeVendor(harness)
  const foreign = await makeProject(harness, own)
  const bound = async (projectId: string, env: 'live' | 'test') => {
    const more = { env, project_ids: [projectId], permissions: ['ratelimit:check'] }
    return (await makeSecretKey(harness, own, more)).key as string
  }
  const elsewhere = await bound(foreign.id, 'live')
  const testKeys = await makeKeys(most, own, { env: 'test' })
  const foreignKeys = await makeKeys(most, { ...own, projectId: foreign.id })
  await fill(testKeys, { token: own.test, projectId: own.projectId, env: 'test' })
  await fill(foreignKeys, { token: elsewhere, projectId: foreign.id })
  for (const key of await makeKeys(8, own))
    assert.equal((await check(key, { token: own.live, projectId: own.projectId })).status, 200)
})

test('near a limit the counters of invented ids make room, those of keys and tenants stay', async () => {
  const own = await makeVendor(harness)
  const keys = await makeKeys(4, own)
  const asked = { token: own.live, projectId: own.projectId }
  for (const key of keys) assert.equal((await check(key, asked)).status, 200)
  const limits = [{ id: 'all', limit: 9, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'tenant' }]
  const spend = (tenant_id: string | null) =>
    harness.ask('POST', '/v1/ratelimit/check', {
      token: own.live,
      body: { project_id: own.projectId, env: 'live', tenant_id, limits },
    })
  assert.equal((await spend(own.tenantId)).status, 200)
  assert.equal((await spend(null)).status, 200)
  const haveBeenDropped = () =>
    harness.logged.some(line => line.includes('counters of invented ids were dropped'))
  let refused = 0
  await until(async () => {
    const { status } = await check(randomUUID(), asked)
    if (status === 409) refused += 1
    return refused > 0 && status === 200 && haveBeenDropped()
  }, 'an invented id is refused, counters are dropped, and later others have room')
  for (const key of keys) assert.equal((await check(key, asked)).body.limits[0].remaining, 98)
  for (const tenant of [own.tenantId, null])
    assert.equal((await spend(tenant)).body.limits[0].remaining, 7, `${tenant}`)
})

test('counters of projects that do not exist take no room of one that does', async () => {
  const own = await makeVendor(harness)
  const invented = async () => await check(randomUUID(), { token: own.live, projectId: randomUUID() })
  await until(async () => (await invented()).status === 409, 'all projects together are full')
  const keys = await makeKeys(most / 2, own)
  const passes = async (key: string) =>
    (await check(key, { token: own.live, projectId: own.projectId })).status === 200
  await until(async () => await passes(keys[0] as string), 'the process knows the projects that exist')
  for (const key of keys) assert.ok(await passes(key))
})

test('a workspace whose owners have verified no address has a tenth of the counters', async () => {
  const rows = openCounterRows(new Errands(harness.connection), 320, systemClock, harness.deps.log)
  const beyondTenth = async (verified: boolean) => {
    const { workspaceId, projectId } = await makeVendor(harness)
    await makePerson(harness.query, { workspaceId, role: 'owner', verified })
    const place = { workspaceId, env: 'live', projectId }
    rows.add(place, 1)
    return { look: () => rows.add(place, 0), hasQuota: () => rows.hasQuota(place, 33) }
  }
  const [proven, unproven] = [await beyondTenth(true), await beyondTenth(false)]
  // After a count the process rests, and then counts a place when it writes there.
  await until(() => {
    unproven.look()
    return !unproven.hasQuota()
  }, 'the rows are counted')
  assert.equal(proven.hasQuota(), true)
  await rows.close()
})
