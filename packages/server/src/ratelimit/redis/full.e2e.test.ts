import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { startRedisCluster } from '../../../test/redis-cluster.ts'
import { isAnswered, openWatched, someCheck, type WatchedCounters } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Check } from '../fold.ts'
import type { Rule } from '../window.ts'
import { tagOf } from './batch.ts'
import { slotOf } from './slots.ts'
import type { CounterFacts } from './wholes.ts'

/** A server that several workspaces fill, and one that is full. */
const times = <One>(count: number, make: (i: number) => One): One[] =>
  Array.from({ length: count }, (_, i) => make(i))

const longRules = times(
  8,
  (): Rule => ({
    id: randomUUID().padEnd(64, 'x'),
    limit: 1_000_000,
    window_ms: 2_678_400_000,
    algorithm: 'sliding',
    scope: 'key',
  }),
)

type Store = WatchedCounters['store']

async function outcomeOf(store: Store, check: Check): Promise<string> {
  try {
    return (await store.check(check)).allowed ? 'allowed' : 'denied'
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error)
  }
}

/** Sends checks of invented keys to both environments, by turns of five projects and of invented ones. @returns the outcomes. */
async function flood(store: Store, workspaceIds: readonly string[], checks: number): Promise<Set<string>> {
  const places = workspaceIds.flatMap(workspaceId =>
    times(5, () => randomUUID() as string).flatMap(projectId =>
      (['live', 'test'] as const).map(env => ({ workspaceId, projectId, env, rules: longRules })),
    ),
  )
  const outcomes = new Set<string>()
  for (let sent = 0; sent < checks; sent += 500) {
    const some = times(500, i => ({
      ...places[(sent + i) % places.length],
      ...(Math.floor(i / places.length) % 2 === 1 && { projectId: randomUUID() }),
    }))
    const all = await Promise.all(some.map(over => outcomeOf(store, someCheck(over))))
    for (const outcome of all) outcomes.add(outcome)
  }
  return outcomes
}

const fail = (): never => assert.fail()
const alone = (id: string): string[] => [id]
const floods: [who: string, facts: Omit<CounterFacts, 'workspaceIds'>, count: number, together: boolean][] = [
  ['25 unproven workspaces of one person', { isProven: false, projectIds: [], projects: 0 }, 25, true],
  ['25 unproven workspaces of as many people', { isProven: false, projectIds: [], projects: 0 }, 25, false],
  ['two proven workspaces of one person', { isProven: true, projectIds: [], projects: 0 }, 2, true],
  ['four proven workspaces of as many people', { isProven: true, projectIds: [], projects: 0 }, 4, false],
]

for (const [who, facts, count, together] of floods)
  test(`${who} fill no server, and others add counters`, async () => {
    const small = await startRedis(['--maxmemory', '12mb', '--maxmemory-policy', 'noeviction'])
    const own = times(count, () => randomUUID() as string)
    const { store } = await openWatched(small.url, undefined, {
      factsOf: async id =>
        own.includes(id)
          ? { ...facts, workspaceIds: together ? own : alone(id) }
          : { isProven: true, projectIds: [], workspaceIds: [id], projects: 0 },
    })
    const first = own.map(workspaceId => someCheck({ workspaceId }))
    for (const check of first) assert.equal(await outcomeOf(store, check), 'allowed')
    const outcomes = await flood(store, own, 20_000)
    assert.deepEqual([...outcomes].sort(), ['allowed', 'counter_limit_reached'])
    const others = times(1_000, () => outcomeOf(store, someCheck()))
    assert.deepEqual([...new Set(await Promise.all(others))], ['allowed'])
    for (const check of first) assert.equal((await store.check(check)).cells[0]?.current, 2)
  })

test('of a cluster only the nearly full shard refuses new counters, those of a large payer', async () => {
  const cluster = await startRedisCluster()
  const [tight = fail(), roomy] = cluster.masters
  const { store } = await openWatched(cluster.url)
  await until(() => isAnswered(store), 'the masters are known')
  const projectOn = (server: typeof roomy, workspaceId: string): string => {
    for (;;) {
      const projectId = randomUUID()
      if (cluster.masterOf(slotOf(tagOf({ workspaceId, projectId, env: 'live' }))) === server)
        return projectId
    }
  }
  const large = randomUUID()
  const over = { workspaceId: large, projectId: projectOn(tight, large) }
  const first = times(2_000, () => someCheck(over))
  assert.ok((await Promise.all(first.map(check => store.check(check)))).every(({ allowed }) => allowed))
  const used = Number(/used_memory:(\d+)/.exec(String(await cluster.ask(tight, 'INFO', 'memory')))?.[1])
  await cluster.ask(tight, 'CONFIG', 'SET', 'maxmemory', `${Math.ceil(used * 1.15)}`)
  assert.ok(((await store.readMemory()) ?? 0) > 0.8)
  await until(async () => (await outcomeOf(store, someCheck(over))) === 'counter_limit_reached')
  assert.equal((await store.check(first[0] as Check)).cells[0]?.current, 2)
  const elsewhere = { workspaceId: large, projectId: projectOn(roomy, large) }
  assert.equal(await outcomeOf(store, someCheck(elsewhere)), 'allowed')
  const small = randomUUID()
  const onTight = someCheck({ workspaceId: small, projectId: projectOn(tight, small) })
  assert.equal(await outcomeOf(store, onTight), 'allowed')
})

test('a full server counts on with the counters that it has, and takes no new one', async () => {
  const server = await startRedis()
  const admin = new Redis(server.url)
  after(() => admin.disconnect())
  const { store, logged, failures } = await openWatched(server.url)
  const asked = someCheck({ rules: [{ ...(someCheck().rules[0] as Rule), limit: 5 }] })
  await store.check(asked)
  await admin.config('SET', 'maxmemory', '1')
  await admin.script('FLUSH')
  for (let current = 2; current <= 5; current++) {
    const [mine, fresh] = await Promise.all([store.check(asked), outcomeOf(store, someCheck())])
    assert.deepEqual([mine.allowed, mine.cells[0]?.current, fresh], [true, current, 'counter_limit_reached'])
  }
  assert.equal(await outcomeOf(store, asked), 'denied')
  await admin.config('SET', 'maxmemory', '0')
  assert.equal(await isAnswered(store), true)
  assert.deepEqual([logged, failures()], [[], 0])
})

test('on a full server counters of invented ids make room, those of the largest holder first', async () => {
  const server = await startRedis()
  const admin = new Redis(server.url)
  after(() => admin.disconnect())
  const filling = await openWatched(server.url)
  const [large, small] = [randomUUID(), randomUUID()]
  assert.deepEqual([...(await flood(filling.store, [large], 2_000))], ['allowed'])
  assert.deepEqual([...(await flood(filling.store, [small], 500))], ['allowed'])
  const sumsOf = async (workspaceId: string) => {
    const sums = await Promise.all(
      ['live', 'test'].map(env => admin.hget(`keyrail:{${workspaceId}:${env}}:held`, 'all')),
    )
    return sums.reduce((sum, one) => sum + Number(one), 0)
  }
  await until(async () => (await sumsOf(large)) > 7_000 && (await sumsOf(small)) > 1_500, 'all is noted')
  await filling.store.close()
  await admin.config('SET', 'maxmemory', '1')
  const asked = new Set<string>()
  const { store } = await openWatched(server.url, undefined, {
    inventedOf: async subjects => {
      for (const { workspaceId } of subjects) asked.add(workspaceId)
      return [...subjects]
    },
  })
  const keysOf = async (workspaceId: string) => (await admin.keys(`keyrail:{${workspaceId}:*}:key:*`)).length
  await until(async () => (await keysOf(large)) <= 1_000, 'an environment of the largest is cleared')
  assert.deepEqual([...asked], [large])
  assert.equal(await keysOf(small), 500)
  await store.close()
})
