import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { testStore } from '../../../test/counter-store-suite.ts'
import { startRedisCluster } from '../../../test/redis-cluster.ts'
import {
  isAnswered,
  isClusterDown,
  isUnavailable,
  openWatched,
  someCheck,
} from '../../../test/redis-counters.ts'
import { type RedisServer, startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import type { Check } from '../fold.ts'
import { subjectOf } from '../subject.ts'
import type { Rule } from '../window.ts'
import { keyOf, tagOf } from './batch.ts'
import { ownersOf, redirectionOf, slotOf } from './slots.ts'

const cluster = await startRedisCluster()
const { masters, masterOf, ask, url } = cluster
const [first, second, third] = masters as [RedisServer, RedisServer, RedisServer]
let time = 0
const { store } = await openWatched(url, () => time)
const { store: other } = await openWatched(url, () => time)

testStore('Redis Cluster', async () => ({
  store,
  other,
  async setTime(now) {
    time = now
  },
}))

const slotOfCheck = (check: Check) => slotOf(tagOf(check))

/** A check whose slot the given master owns. */
function checkOn(server: RedisServer, over: Partial<Check> = {}): Check {
  for (;;) {
    const check = someCheck(over)
    if (masterOf(slotOfCheck(check)) === server) return check
  }
}

const spent = async (check: Check) => (await store.check({ ...check, cost: 0 })).cells[0]?.current ?? 0

test('the slot of a tag is the slot that Redis computes for its keys', async () => {
  for (const tag of ['a', '123456789', ...Array.from({ length: 50 }, () => tagOf(someCheck()))])
    assert.equal(slotOf(tag), await ask(second, 'CLUSTER', 'KEYSLOT', `keyrail:{${tag}}:key:x`))
})

test('a master without a name and a master with an IPv6 address are found', () => {
  const table = [
    [0, 1, ['', 7000, 'id'], ['10.0.0.9', 7001, 'id']],
    [2, 2, [null, 7002, 'id']],
    [4, 4, ['fd00::1', 7003, 'id']],
  ]
  assert.deepEqual(ownersOf(table, 'fd00::2:7009').slice(0, 6), [
    'fd00::2:7000',
    'fd00::2:7000',
    'fd00::2:7002',
    undefined,
    'fd00::1:7003',
    undefined,
  ])
  const redirected = (message: string) => redirectionOf(new Error(message), '10.0.0.1:7000')
  assert.deepEqual(redirected('MOVED 5 fd00::1:7003'), { kind: 'MOVED', place: 'fd00::1:7003' })
  assert.deepEqual(redirected('ASK 5 :7001'), { kind: 'ASK', place: '10.0.0.1:7001' })
  assert.equal(redirected('CLUSTERDOWN The cluster is down'), null)
})

test('while a slot moves to another master, none of its checks is refused or charged twice', async () => {
  const rules: Rule[] = (['key', 'tenant'] as const).map(scope => ({
    id: scope,
    limit: 1_000_000,
    window_ms: 2_678_400_000,
    algorithm: 'fixed',
    scope,
  }))
  const asked = checkOn(second, { tenantId: randomUUID(), rules })
  const slot = `${slotOfCheck(asked)}`
  const [from, to] = [await ask(second, 'CLUSTER', 'MYID'), await ask(third, 'CLUSTER', 'MYID')].map(String)
  let charged = 0
  const charge = async (check: Check) => {
    assert.equal((await store.check(check)).allowed, true)
    charged += 1
  }
  await charge(asked)
  await ask(third, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', `${from}`)
  await ask(second, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', `${to}`)
  const move = (scope: Rule['scope']) =>
    ask(second, 'MIGRATE', '127.0.0.1', `${third.port}`, keyOf(subjectOf(asked, scope)), '0', '1000')
  await move('key')
  // The key has moved and the tenant has not: the server answers TRYAGAIN.
  const split = charge(asked)
  await until(async () => /errorstat_TRYAGAIN/.test(String(await ask(second, 'INFO', 'errorstats'))))
  await move('tenant')
  await split
  await charge(asked)
  for (const server of [third, second, first]) await ask(server, 'CLUSTER', 'SETSLOT', slot, 'NODE', `${to}`)
  await charge(asked)
  assert.equal(await spent(asked), charged)
})

/** Sends checks continuously until `stop`, and counts the results by project. */
function loadOn(servers: readonly RedisServer[]) {
  const projects = servers.flatMap(server =>
    Array.from({ length: 4 }, () => ({ server, check: checkOn(server), answered: 0, refused: 0 })),
  )
  let stopped = false
  const ask = async (project: (typeof projects)[number]) => {
    try {
      await store.check(project.check)
      project.answered += 1
    } catch (error) {
      // On a busy machine a slow master may refuse by itself, which is not the store's fault.
      if (!isClusterDown(error)) project.refused += 1
      if (!isUnavailable(error)) throw error
    }
  }
  const workers = projects.flatMap(project =>
    Array.from({ length: 8 }, async () => {
      while (!stopped) {
        await ask(project)
        await setTimeout(2)
      }
    }),
  )
  return {
    projects,
    async stop() {
      stopped = true
      await Promise.all(workers)
    },
  }
}

test('a frozen master delays only its own shard, which passes again when it continues', async () => {
  time = 1_790_000_000_000
  const { projects, stop } = loadOn(masters)
  await until(() => projects.every(({ answered }) => answered > 0))
  second.signal('SIGSTOP')
  const mine = projects.filter(({ server }) => server === second)
  await until(() => mine.every(({ refused }) => refused > 0))
  second.signal('SIGCONT')
  await until(() => isAnswered(store, checkOn(second)))
  await stop()
  for (const { server, refused, check, answered } of projects) {
    if (server === second) continue
    assert.equal(refused, 0)
    assert.equal(await spent(check), answered)
  }
})

test('when a master is killed its replica takes over, and the other shards are not affected', async () => {
  time = 1_790_000_000_000
  const { projects, stop } = loadOn(masters)
  const mine = projects.filter(({ server }) => server === first)
  await until(() => projects.every(({ answered }) => answered > 10))
  await first.kill()
  await until(() => mine.every(({ refused }) => refused > 0))
  const before = mine.map(({ answered }) => answered)
  await until(() => mine.every(({ answered }, i) => answered > (before[i] ?? 0)))
  await stop()
  for (const { server, refused, check, answered } of projects) {
    const counted = await spent(check)
    if (server !== first) assert.deepEqual([refused, counted], [0, answered])
    // The replica may miss the last charges, and never counts more than was sent.
    else assert.ok(counted > 0 && counted <= answered + refused, `${counted} of ${answered} and ${refused}`)
  }
})

test('an idle process finds the promoted replica too', async () => {
  await until(() => isAnswered(other, checkOn(first)))
})

test('checks of a slot without an owner are refused, logged once, and pass once it has one', async () => {
  const { store: watched, logged } = await openWatched(url)
  const asked = checkOn(third)
  assert.ok(await isAnswered(watched, asked))
  const slot = `${slotOfCheck(asked)}`
  const known = [second, third, cluster.replica]
  for (const server of known) await ask(server, 'CLUSTER', 'DELSLOTS', slot)
  await until(async () => !(await isAnswered(watched, asked)))
  assert.ok(await isAnswered(watched, checkOn(second)))
  await ask(third, 'CLUSTER', 'ADDSLOTS', slot)
  await until(() => isAnswered(watched, asked))
  assert.equal(new Set(logged.map(({ level, redis }) => `${level} ${redis}`)).size, logged.length)
})

test('a cluster that was down as a whole is found again', async () => {
  const { store: watched, logged } = await openWatched(url)
  const servers = [...masters, cluster.replica]
  for (const server of servers) await server.kill()
  await until(async () => !(await isAnswered(watched)))
  for (const server of servers) await server.start()
  for (const server of masters) await until(() => isAnswered(watched, checkOn(server)))
  assert.ok(logged.filter(({ level }) => level === 'error').length <= servers.length + 1)
})

test('a cluster that does not name its masters is used by the address that was asked', async context => {
  const nameBy = async (type: 'ip' | 'unknown-endpoint') => {
    for (const server of [...masters, cluster.replica])
      await ask(server, 'CONFIG', 'SET', 'cluster-preferred-endpoint-type', type)
  }
  context.after(() => nameBy('ip'))
  await nameBy('unknown-endpoint')
  const { store: unnamed } = await openWatched(url)
  for (const server of [second, third]) {
    const answered = await Promise.all(Array.from({ length: 20 }, () => isAnswered(unnamed, checkOn(server))))
    assert.ok(answered.every(Boolean), `${answered}`)
  }
})

test('a seed that knows no slots is passed over for the next one', async () => {
  const empty = await startRedis(['--cluster-enabled', 'yes'])
  const { store: watched } = await openWatched(`${empty.url},${second.url}`)
  for (const server of [second, third]) await until(() => isAnswered(watched, checkOn(server)))
})
