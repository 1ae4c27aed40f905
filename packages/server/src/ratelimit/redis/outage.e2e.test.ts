import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { startHarness } from '../../../test/harness.ts'
import {
  isAnswered,
  isUnavailable,
  openWatched,
  someCheck,
  type WatchedCounters,
  withoutDatabase,
} from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { Deadline } from '../../platform/concurrency/deadline.ts'
import { uncounted } from '../../platform/observe/metrics.ts'
import { openRedisCounters } from './redis.ts'

/** The levels of the outage lines in the log: `error` when one began, `info` when it ended. */
const levels = ({ logged }: WatchedCounters) => logged.map(({ level }) => level)

async function admin<Out>(url: string, work: (redis: Redis) => Promise<Out>): Promise<Out> {
  const redis = new Redis(url)
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

test('checks are refused while Redis is down, pass when it is back, and each is logged once', async () => {
  const server = await startRedis()
  const counters = await openWatched(server.url)
  for (let round = 1; round <= 2; round++) {
    assert.ok(await isAnswered(counters.store))
    await server.kill()
    await until(async () => !(await isAnswered(counters.store)))
    const before = counters.failures()
    for (let i = 0; i < 50; i++) assert.equal(await isAnswered(counters.store), false)
    assert.equal(counters.failures(), before + 50)
    await server.start()
    await until(() => isAnswered(counters.store))
    assert.deepEqual(levels(counters), Array.from({ length: round }, () => ['error', 'info']).flat())
  }
  assert.equal(counters.store.depth(), 0)
})

test('each check that a dying server was sent is answered or refused, and none is sent later', async () => {
  const server = await startRedis()
  const { store } = await openWatched(server.url)
  const asked = someCheck()
  await store.check(asked)
  const all = Promise.all(Array.from({ length: 3_000 }, () => isAnswered(store, asked)))
  await server.kill()
  const answers = await all
  assert.ok(answers.includes(false))
  await server.start()
  await until(() => isAnswered(store, { ...asked, cost: 0 }))
  // The server lost its memory, and no check of that time is charged to it afterwards.
  assert.equal((await store.check({ ...asked, cost: 0 })).cells[0]?.current, 0)
})

test('while a server is paused callers are answered in time, and no check is charged twice', async () => {
  const server = await startRedis()
  const counters = await openWatched(server.url)
  const asked = someCheck()
  await admin(server.url, redis => redis.call('CLIENT', 'PAUSE', '2500', 'ALL'))
  const soon = Array.from({ length: 20 }, () => counters.store.check(asked, new Deadline(100)))
  for (const one of soon) await assert.rejects(one, isUnavailable)
  // This check has the default deadline, within which the connection is given up.
  await assert.rejects(counters.store.check(asked), isUnavailable)
  await until(() => isAnswered(counters.store, { ...asked, cost: 0 }))
  const { cells } = await counters.store.check({ ...asked, cost: 0 })
  assert.ok((cells[0]?.current ?? 0) <= 21, `${cells[0]?.current}`)
  assert.deepEqual(levels(counters), ['error', 'info'])
})

test('a frozen server is given up, and used again as soon as it continues', async () => {
  const server = await startRedis()
  const counters = await openWatched(server.url)
  assert.ok(await isAnswered(counters.store))
  server.signal('SIGSTOP')
  const answers = await Promise.all(Array.from({ length: 200 }, () => isAnswered(counters.store)))
  assert.ok(answers.every(answer => !answer))
  server.signal('SIGCONT')
  await until(() => isAnswered(counters.store))
  assert.deepEqual(levels(counters), ['error', 'info'])
})

test('a server that cannot write refuses whole batches and charges nothing until it can', async () => {
  const server = await startRedis()
  const counters = await openWatched(server.url)
  const asked = someCheck()
  await counters.store.check(asked)
  const spells: [on: string[], off: string[]][] = [
    [
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    ],
    [
      ['REPLICAOF', '127.0.0.1', '1'],
      ['REPLICAOF', 'NO', 'ONE'],
    ],
  ]
  for (const [[on = '', ...onArgs], [off = '', ...offArgs]] of spells) {
    await admin(server.url, redis => redis.call(on, ...onArgs))
    const answers = await Promise.all(Array.from({ length: 50 }, () => isAnswered(counters.store, asked)))
    assert.ok(
      answers.every(answer => !answer),
      on,
    )
    await admin(server.url, redis => redis.call(off, ...offArgs))
    await until(() => isAnswered(counters.store, { ...asked, cost: 0 }))
    assert.equal((await counters.store.check({ ...asked, cost: 0 })).cells[0]?.current, 1)
  }
  assert.deepEqual(
    levels(counters),
    spells.flatMap(() => ['error', 'info']),
  )
})

test('a service starts while its Redis is down, and counts as soon as it is up', async () => {
  const server = await startRedis()
  await server.kill()
  const counters = await openWatched(server.url)
  assert.equal(await isAnswered(counters.store), false)
  await server.start()
  await until(() => isAnswered(counters.store))
  assert.deepEqual(levels(counters), ['error', 'info'])
})

test('a changed password is an outage, and the log contains no password', async () => {
  const server = await startRedis(['--requirepass', 'first-word'])
  const url = server.url.replace('//', '//:first-word@')
  const counters = await openWatched(url)
  assert.ok(await isAnswered(counters.store))
  await admin(url, async redis => {
    await redis.config('SET', 'requirepass', 'other-word')
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  })
  await until(async () => !(await isAnswered(counters.store)))
  await admin(url.replace('first', 'other'), redis => redis.config('SET', 'requirepass', 'first-word'))
  await until(() => isAnswered(counters.store))
  assert.deepEqual(levels(counters), ['error', 'info'])
  assert.doesNotMatch(JSON.stringify(counters.logged), /first-word|other-word/)
})

/** Starts a server that answers every request with the same bytes. */
async function startListener(answer: string): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => void socket.write(answer))
  })
  server.unref()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`
}

const info = (text: string) => `$${text.length}\r\n${text}\r\n`

test('an unusable server is refused at the start, with the reason and without the password', async () => {
  const locked = await startRedis(['--requirepass', 'right-word'])
  const open = (url: string) =>
    openRedisCounters(url, { ...withoutDatabase, log: undefined as never, observer: uncounted })
  const refused: [url: string, reason: RegExp][] = [
    [locked.url.replace('//', '//:wrong-word@'), /rejects the login: WRONGPASS/],
    [locked.url, /rejects the login: NOAUTH/],
    [locked.url.replace('//', '//:right-word@').concat('/99'), /rejects the login: ERR DB index/],
    [
      await startListener(info('redis_version:6.2.14\r\n')),
      /is 6\.2\.14; rate-limit counters need Redis or Valkey 7/,
    ],
    [await startListener(info('redis_version:7.2.4\r\nredis_mode:sentinel\r\n')), /is a Sentinel/],
    [await startListener('HTTP/1.1 400 Bad Request\r\n\r\n'), /is not a Redis/],
    ['redis://127.0.0.1/first', /must be the number of a database/],
    ['redis://:100%@127.0.0.1', /must be percent-encoded/],
  ]
  for (const [url, reason] of refused) {
    await assert.rejects(open(url), error => {
      assert.ok(error instanceof Error && error.name === 'RedisRefused', String(error))
      assert.match(error.message, reason)
      assert.doesNotMatch(error.message, /wrong-word|right-word|100%/)
      return true
    })
  }
})

test('without Redis the service is ready, answers checks 503 and everything else as usual', async () => {
  const server = await startRedis()
  const harness = await startHarness({ redisUrl: server.url })
  const vendor = await makeVendor(harness)
  const body = {
    project_id: vendor.projectId,
    env: 'live',
    limits: [{ id: 'burst', limit: 3, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
  }
  const check = () => harness.ask('POST', '/v1/ratelimit/check', { token: vendor.live, body })
  assert.equal((await check()).body.limits[0].remaining, 2)
  assert.deepEqual(await harness.query('select cells from rate_counters'), [])
  await server.kill()
  await until(async () => (await check()).status === 503)
  assert.equal((await check()).body.code, 'unavailable')
  assert.equal((await harness.ask('GET', '/readyz')).status, 200)
  assert.equal((await harness.ask('GET', '/v1/keys', { token: vendor.live })).status, 200)
  assert.match(await harness.deps.metrics.text(), /^keyrail_redis_failures_total [1-9]/m)
  await server.start()
  await until(async () => (await check()).status === 200)
  assert.equal(
    harness.logged.filter(line => line.includes('Redis does not answer rate-limit checks')).length,
    1,
  )
})

test('a closed store refuses new checks, and answers those that it had', async () => {
  const server = await startRedis()
  const { store } = await openWatched(server.url)
  const asked = Array.from({ length: 700 }, () => isAnswered(store))
  const closing = store.close()
  assert.equal(await isAnswered(store), false)
  assert.ok((await Promise.all(asked)).every(answer => answer))
  await closing
})
