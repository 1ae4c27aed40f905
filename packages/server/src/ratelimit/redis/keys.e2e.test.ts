import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { openWatched, someCheck } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { graceMs, mostCounters } from '../store.ts'
import { subjectOf } from '../subject.ts'
import type { Rule } from '../window.ts'
import { keyOf } from './batch.ts'

/** The keys in Redis: what they hold, when they expire, and by which clock. */
const server = await startRedis()
const admin = new Redis(server.url)
after(() => admin.disconnect())
let time = 0
const { store } = await openWatched(server.url, () => time)
const { store: real } = await openWatched(server.url)

test('a subject has one key for all its counters, which expires with the last of them', async () => {
  const rules: Rule[] = [
    { id: 'short', limit: 9, window_ms: 1_000, algorithm: 'fixed', scope: 'key' },
    { id: 'long', limit: 9, window_ms: 60_000, algorithm: 'sliding', scope: 'key' },
    { id: 'all', limit: 9, window_ms: 2_000, algorithm: 'fixed', scope: 'tenant' },
  ]
  const asked = someCheck({ tenantId: randomUUID(), rules })
  const { workspaceId, projectId, keyId, tenantId } = asked
  const tag = `keyrail:{${workspaceId}:${projectId}:live}`
  const { now } = await real.check(asked)
  assert.deepEqual((await admin.keys(`${tag}*`)).toSorted(), [
    `${tag}:held`,
    `${tag}:key:${keyId}`,
    `${tag}:tenant:${tenantId}`,
  ])
  const ends = async (key: string) => Number(await admin.pexpiretime(`${tag}:${key}`))
  const start = (window: number) => Math.floor(now / window) * window
  assert.equal(await ends(`key:${keyId}`), start(60_000) + 120_000 + graceMs)
  assert.equal(await ends(`tenant:${tenantId}`), start(2_000) + 2_000 + graceMs)
  // A shorter counter that is charged later does not make the key expire earlier.
  await real.check({ ...asked, rules: rules.slice(0, 1) })
  assert.equal(await ends(`key:${keyId}`), start(60_000) + 120_000 + graceMs)
})

test('counters that no longer count are removed from their key, which does not grow', async () => {
  const asked = someCheck()
  time = 1_790_000_000_000
  const size = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await store.check({
        ...asked,
        rules: [{ id: `id-${i}`, limit: 9, window_ms: 1_000, algorithm: 'fixed', scope: 'key' }],
      })
      time += 100
    }
    return await admin.strlen(keyOf(subjectOf(asked, 'key')))
  }
  const afterFew = await size(200)
  const afterMany = await size(800)
  assert.ok(afterMany < 2 * afterFew, `${afterFew} bytes, then ${afterMany}`)
})

test('a subject with too many counters keeps those that end last', async () => {
  const asked = someCheck()
  time = 1_790_000_000_000
  const rule = (i: number): Rule => ({
    id: `id-${i}`,
    limit: 9,
    window_ms: 3_600_000 + i,
    algorithm: 'fixed',
    scope: 'key',
  })
  const spent = async (i: number) =>
    (await store.check({ ...asked, cost: 0, rules: [rule(i)] })).cells[0]?.current
  for (let i = 0; i < mostCounters + 20; i++) await store.check({ ...asked, rules: [rule(i)] })
  const kept = await Promise.all(Array.from({ length: mostCounters + 20 }, (_, i) => spent(i)))
  assert.equal(kept.filter(current => current === 1).length, mostCounters)
  const ends = (i: number) => Math.floor(time / rule(i).window_ms) * rule(i).window_ms + 2 * rule(i).window_ms
  const endsOf = (wanted: number) => kept.flatMap((current, i) => (current === wanted ? [ends(i)] : []))
  assert.ok(Math.min(...endsOf(1)) >= Math.max(...endsOf(0)))
})

test('after the clock steps back a counter continues, and its key lives as long as it counts', async () => {
  const asked = someCheck()
  time = 1_790_000_000_000
  await store.check(asked)
  time -= 7_200_000
  const { cells } = await store.check(asked)
  assert.equal(cells[0]?.current, 2)
  const left = await admin.pttl(keyOf(subjectOf(asked, 'key')))
  assert.ok(left > 2 * 3_600_000, `${left}`)
})

/** Values of counters that no check has written, as a Lua table after the version. `name` and `start` are right. */
const malformed: Record<string, string> = {
  'a text for a number': `name, start, 'x', 1`,
  'no number at all': `name, start, 0, {}`,
  'a table for a name': `{}, start, 0, 1`,
  'a name without a window': `'many', start, 0, 1`,
  'too few fields': `name, start`,
  'too many fields': `name, start, 0, 1, name, start, 0, 1, 7, 8`,
  'a negative count': `name, start, 0, -5`,
  'a broken count': `name, start, 0, 1.5`,
  NaN: `name, start, 0, 0/0`,
  infinity: `name, 1/0, 0, 1/0`,
  'minus infinity': `name, -1/0, -1/0, 1`,
  'a huge count': `name, start, 0, 1e300`,
  'a start in a far future': `name, start + 1000 * 2678400000, 0, 1`,
  'a start that no window has': `name, start + 1, 0, 999999`,
  'a table for a start': `name, {}, 0, 1`,
  'a foreign note': `name, start, 0, 'x', 'held 0', 'x', {}, 0`,
  'a note of NaN': `name, start, 0, 'x', 'held 0', 0/0, -1, 0`,
}

test('a malformed value costs itself: it is overwritten, and its batch goes on', async () => {
  time = 1_790_000_000_000
  const window = 2_678_400_000
  const packed = (fields: string) => (key: string) =>
    admin.eval(
      `local name, start = 'many fixed ${window}', ${Math.floor(time / window) * window}
       redis.call('SET', KEYS[1], cmsgpack.pack({ 1, ${fields} }))`,
      1,
      key,
    )
  const strange: [string, (key: string) => Promise<unknown>][] = [
    ['a text', key => admin.set(key, 'hello')],
    ['nothing', key => admin.set(key, '')],
    ['half a list', key => admin.set(key, Buffer.from([0x93, 1, 2]))],
    ['an unused byte', key => admin.set(key, Buffer.from([0xc1]))],
    [
      'another version',
      key => admin.eval(`redis.call('SET', KEYS[1], cmsgpack.pack({ 2, 'a', 1, 1, 1 }))`, 1, key),
    ],
    ['a number', key => admin.eval(`redis.call('SET', KEYS[1], cmsgpack.pack(7))`, 1, key)],
    ['a megabyte', key => admin.set(key, Buffer.alloc(1_000_000, 0x91))],
    ['deep lists', key => admin.set(key, Buffer.alloc(60_000, 0x91))],
    ['a list', key => admin.rpush(key, '1')],
    ['a hash', key => admin.hset(key, 'a', '1')],
    ...Object.entries(malformed).map(([what, fields]): [string, (key: string) => Promise<unknown>] => [
      what,
      packed(fields),
    ]),
  ]
  for (const [what, put] of strange) {
    const asked = someCheck()
    const neighbour = someCheck({ workspaceId: asked.workspaceId })
    await put(keyOf(subjectOf(asked, 'key')))
    for (const wanted of [1, 2]) {
      const tallies = await Promise.all([store.check(neighbour), store.check(asked), store.check(neighbour)])
      assert.deepEqual(
        tallies.map(({ allowed, cells }) => [allowed, cells[0]?.current]),
        [
          [true, 2 * wanted - 1],
          [true, what === 'too many fields' ? wanted + 1 : wanted],
          [true, 2 * wanted],
        ],
        what,
      )
    }
  }
})

test('a malformed counter costs no other counter of its key', async () => {
  time = 1_790_000_000_000
  const asked = someCheck()
  const start = Math.floor(time / 2_678_400_000) * 2_678_400_000
  await admin.eval(
    `redis.call('SET', KEYS[1], cmsgpack.pack({ 1, 'other fixed 1000', 'x', 0, 1, 'many fixed 2678400000', ${start}, 0, 41 }))`,
    1,
    keyOf(subjectOf(asked, 'key')),
  )
  assert.equal((await store.check(asked)).cells[0]?.current, 42)
})

test('a server that lost the script gets it again, and each check is charged once', async () => {
  const asked = someCheck()
  for (let i = 1; i <= 20; i++) {
    if (i % 4 === 0) await admin.script('FLUSH')
    assert.equal((await store.check(asked)).cells[0]?.current, i)
  }
})

test('checks use the clock of the Redis server', async () => {
  const before = await clock()
  const { now } = await real.check(someCheck())
  const { now: after } = await real.check(someCheck())
  assert.ok(before <= now && now <= after && after <= (await clock()))
})

const clock = async () => {
  const [seconds, micros] = await admin.time()
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
}
