import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { startHarness } from '../../../test/harness.ts'
import { startRedisCluster } from '../../../test/redis-cluster.ts'
import { isAnswered, openWatched, someCheck } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Check } from '../fold.ts'
import { graceMs } from '../store.ts'
import { subjectOf } from '../subject.ts'
import type { Rule } from '../window.ts'
import { keyOf } from './batch.ts'
import { clearWorkspace } from './keys.ts'
import { openLink } from './link.ts'
import { watchOutages } from './outage.ts'
import { seedsOf } from './seeds.ts'

/** What counters take in Redis, and how much of it a project and a workspace may have. */
const server = await startRedis()
const admin = new Redis(server.url)
after(() => admin.disconnect())

type Store = Awaited<ReturnType<typeof openWatched>>['store']
type Outcome = 'allowed' | 'denied' | 'full'

async function outcomeOf(store: Store, check: Check): Promise<Outcome> {
  try {
    return (await store.check(check)).allowed ? 'allowed' : 'denied'
  } catch (error) {
    if (error instanceof Refusal && error.code === 'counter_limit_reached') return 'full'
    throw error
  }
}

const times = <One>(count: number, make: () => One): One[] => Array.from({ length: count }, make)

/** Sends checks of new keys at once. @returns how many were allowed. */
const fill = async (store: Store, count: number, over: () => Partial<Check>) => {
  const outcomes = await Promise.all(times(count, () => outcomeOf(store, someCheck(over()))))
  return outcomes.filter(outcome => outcome === 'allowed').length
}

const sumOf = async (tag: string) => Number(await admin.hget(`${tag}:held`, 'all'))

test('neither test nor another project takes the room of live checks, and what is there goes on', async () => {
  const { store } = await openWatched(server.url, undefined, { limit: 50 })
  const [workspaceId, projectId, foreign] = [randomUUID(), randomUUID(), randomUUID()]
  assert.equal(await fill(store, 80, () => ({ workspaceId, projectId, env: 'test' })), 50)
  assert.equal(await fill(store, 80, () => ({ workspaceId, projectId: foreign })), 50)
  const mine = someCheck({ workspaceId, projectId })
  assert.equal(await outcomeOf(store, mine), 'allowed')
  assert.equal(await fill(store, 80, () => ({ workspaceId, projectId })), 49)
  assert.equal(await outcomeOf(store, mine), 'allowed', 'a key that has its counter')
  const other = { ...mine, keyId: randomUUID() }
  assert.equal(await outcomeOf(store, other), 'full')
  assert.equal(await outcomeOf(store, { ...other, cost: 0 }), 'allowed', 'cost 0 needs no counter')
  assert.equal(await outcomeOf(store, someCheck()), 'allowed', 'another workspace')
})

test('a denied check is denied also where there is no room', async () => {
  const { store } = await openWatched(server.url, undefined, { limit: 1 })
  const rules: Rule[] = [{ id: 'a', limit: 1, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }]
  const asked = someCheck({ rules })
  assert.equal(await outcomeOf(store, asked), 'allowed')
  assert.equal(await outcomeOf(store, asked), 'denied')
})

test('the room of counters is free again when their windows end', async () => {
  let time = 1_790_000_000_000
  const { store } = await openWatched(server.url, () => time, { limit: 20 })
  const place = { workspaceId: randomUUID(), projectId: randomUUID() }
  const rules: Rule[] = [{ id: 'a', limit: 9, window_ms: 600_000, algorithm: 'fixed', scope: 'key' }]
  const again = someCheck({ ...place, rules })
  await store.check(again)
  assert.equal(await fill(store, 40, () => ({ ...place, rules })), 19)
  // An end is rounded up to an eighth of the time until then.
  time += 1.25 * 600_000 + graceMs + 80_000
  assert.equal(await outcomeOf(store, again), 'allowed')
  assert.equal(await fill(store, 40, () => ({ ...place, rules })), 19)
})

test('a counter is counted once, however often it is charged and its window changes', async () => {
  let time = 1_790_000_000_000
  const { store } = await openWatched(server.url, () => time)
  const rules: Rule[] = [{ id: 'a', limit: 9_999, window_ms: 1_000, algorithm: 'sliding', scope: 'key' }]
  const place = { workspaceId: randomUUID(), projectId: randomUUID(), rules }
  const keys = times(30, () => randomUUID())
  for (let i = 0; i < 300; i++) {
    time += 400
    await Promise.all(keys.map(keyId => store.check(someCheck({ ...place, keyId }))))
  }
  time += 61_000
  await Promise.all(keys.map(keyId => store.check(someCheck({ ...place, keyId }))))
  assert.equal(await sumOf(`keyrail:{${place.workspaceId}:${place.projectId}:live}`), 30)
})

test('all projects together have a limit, beyond which each real one has its part', async () => {
  const [real, second] = [randomUUID(), randomUUID()]
  const { store } = await openWatched(server.url, undefined, {
    limit: 40,
    factsOf: async id => ({ isProven: true, projectIds: [real, second], workspaceIds: [id], projects: 2 }),
  })
  const workspaceId = randomUUID()
  const invented = () => ({ workspaceId, projectId: randomUUID() })
  await until(async () => (await fill(store, 20, invented)) === 0, 'invented projects have no more room')
  const first = async () => await outcomeOf(store, someCheck({ workspaceId, projectId: real }))
  await until(async () => (await first()) === 'allowed', 'the process knows the projects that exist')
  assert.equal(await fill(store, 60, () => ({ workspaceId, projectId: real })), 39)
  assert.equal(await fill(store, 60, () => ({ workspaceId, projectId: second })), 40)
  assert.equal(await fill(store, 20, () => ({ workspaceId, projectId: real, env: 'test' })), 20)
})

test('near a bound the counters of invented ids make room, those of keys and tenants stay', async () => {
  const real = new Set(times(5, () => randomUUID() as string))
  const { store, logged } = await openWatched(server.url, undefined, {
    limit: 40,
    inventedOf: async subjects => subjects.filter(({ kind, id }) => kind === 'key' && !real.has(id)),
  })
  const place = { workspaceId: randomUUID(), projectId: randomUUID() }
  const mine = [...real].map(keyId => someCheck({ ...place, keyId }))
  for (const check of mine) assert.equal(await outcomeOf(store, check), 'allowed')
  await fill(store, 60, () => place)
  await until(() => logged.some(({ msg }) => msg === 'counters of invented ids were dropped'))
  assert.equal(await sumOf(`keyrail:{${place.workspaceId}:${place.projectId}:live}`), 5)
  assert.equal(await outcomeOf(store, someCheck(place)), 'allowed')
  for (const check of mine) assert.equal((await store.check(check)).cells[0]?.current, 2)
})

test('a workspace fills no server, and the checks of another are answered', async () => {
  const small = await startRedis(['--maxmemory', '12mb', '--maxmemory-policy', 'noeviction'])
  const { store } = await openWatched(small.url)
  const rules = times(
    8,
    (): Rule => ({
      id: randomUUID().padEnd(64, 'x'),
      limit: 1_000_000,
      window_ms: 2_678_400_000,
      algorithm: 'sliding',
      scope: 'key',
    }),
  )
  const workspaceId = randomUUID()
  const one = randomUUID()
  let sent = 0
  for (const projectId of [() => one, randomUUID])
    for (let i = 0; i < 12; i++) {
      sent += 500
      await Promise.allSettled(
        times(500, () => store.check(someCheck({ workspaceId, projectId: projectId(), env: 'test', rules }))),
      )
    }
  const answered = await Promise.all(times(1_000, () => isAnswered(store)))
  assert.equal(answered.filter(Boolean).length, 1_000, `after ${sent} checks of the first`)
})

test('a foreign value in place of the sum of a tag is overwritten', async () => {
  const { store } = await openWatched(server.url, undefined, { limit: 20 })
  const place = { workspaceId: randomUUID(), projectId: randomUUID() }
  const key = `keyrail:{${place.workspaceId}:${place.projectId}:live}:held`
  const strange = [
    () => admin.set(key, 'x'),
    () => admin.rpush(key, '1'),
    () => admin.hset(key, 'all', 'x', 'swept', 'nan', 'inf', 'x', '9999999999999', 'x'),
    () => admin.hset(key, 'all', '-7', 'swept', '-1', '-3', '5'),
  ]
  for (const put of strange) {
    await admin.del(key)
    await put()
    const tallies = await Promise.all([store.check(someCheck(place)), store.check(someCheck())])
    assert.deepEqual(
      tallies.map(({ allowed }) => allowed),
      [true, true],
    )
  }
})

test('a workspace that is cleared has no counter left, and another keeps its own', async () => {
  const { store } = await openWatched(server.url)
  const [doomed, kept] = [randomUUID(), someCheck()]
  await store.check(kept)
  for (const env of ['live', 'test'] as const)
    assert.equal(await fill(store, 1_500, () => ({ workspaceId: doomed, env })), 1_500)
  const link = await openLink(seedsOf(server.url), watchOutages({ error() {}, info() {} } as never))
  after(() => link.close())
  assert.ok((await clearWorkspace(link, doomed)) >= 3_000)
  assert.deepEqual(await admin.keys(`keyrail:{${doomed}:*}:key:*`), [])
  assert.equal(await admin.exists(keyOf(subjectOf(kept, 'key'))), 1)
})

test('a user who may not write what a tag holds is served, without its bounds', async () => {
  const guarded = await startRedis()
  const owner = new Redis(guarded.url)
  after(() => owner.disconnect())
  // What an installation of an older release has given.
  const rights = '~keyrail:* -@all +eval +evalsha +mget +set +time +info +asking +select +client|setname'
  await owner.call('ACL', 'SETUSER', 'keyrail', 'on', '>word', ...rights.split(' '))
  const { store } = await openWatched(guarded.url.replace('//', '//keyrail:word@'), undefined, { limit: 5 })
  const place = { workspaceId: randomUUID(), projectId: randomUUID() }
  for (let i = 0; i < 8; i++) assert.equal(await outcomeOf(store, someCheck(place)), 'allowed')
  const asked = someCheck(place)
  await store.check(asked)
  assert.equal((await store.check(asked)).cells[0]?.current, 2)
})

test('in a cluster a project and all projects together are bounded, and invented ids make room', async () => {
  const cluster = await startRedisCluster()
  let isSwept = false
  const { store, logged } = await openWatched(cluster.url, undefined, {
    limit: 20,
    inventedOf: async subjects => (isSwept ? [...subjects] : []),
  })
  const workspaceId = randomUUID()
  const projectId = randomUUID()
  await until(() => isAnswered(store), 'the masters are known')
  assert.equal(await fill(store, 40, () => ({ workspaceId, projectId })), 20)
  const invented = () => ({ workspaceId, projectId: randomUUID() })
  await until(async () => (await fill(store, 10, invented)) === 0, 'all projects together are full')
  isSwept = true
  await until(async () => {
    await fill(store, 1, () => ({ workspaceId, projectId }))
    return logged.some(({ msg }) => msg === 'counters of invented ids were dropped')
  })
  assert.ok((await fill(store, 20, () => ({ workspaceId, projectId }))) > 0)
})

test('a service keeps counters of its keys, drops those of invented ids, and shows the memory', async () => {
  const bounded = await startRedis(['--maxmemory', '100mb'])
  const harness = await startHarness({ redisUrl: bounded.url, maxCountersPerWorkspace: 40 })
  const vendor = await makeVendor(harness)
  const check = (key_id: string) =>
    harness.ask('POST', '/v1/ratelimit/check', {
      token: vendor.live,
      body: {
        project_id: vendor.projectId,
        env: 'live',
        key_id,
        tenant_id: vendor.tenantId,
        limits: [
          { id: 'a', limit: 9, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' },
          { id: 'b', limit: 999, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'tenant' },
        ],
      },
    })
  const { id } = await issueKey(harness, vendor)
  assert.equal((await check(id)).status, 200)
  const codes = new Set<string>()
  await until(async () => {
    const { body } = await check(randomUUID())
    codes.add(body.code ?? 'answered')
    return harness.logged.some(line => line.includes('counters of invented ids were dropped'))
  })
  const { body } = await check(id)
  assert.equal(body.limits[0].remaining, 7)
  assert.ok(body.limits[1].remaining < 970)
  assert.ok(
    codes.has('answered') && [...codes].every(code => /^(answered|counter_limit_reached)$/.test(code)),
  )
  const text = await harness.deps.metrics.text()
  assert.match(text, /^keyrail_redis_memory_ratio 0\.0\d+$/m)
  assert.match(text, /keyrail_workspace_limit_ratio\{limit="counters"\} [01]/)
})
