import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { openKeyring } from '../../src/keyring/keyring.ts'
import { type FeedService, project, secretKey, startFeedService } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { deltaOf, openWitness, snapshotOf } from './node.ts'

/** Old answers of the service: they confirm keys only as of their time, and do not set the time back. */

let service: FeedService
let key = ''
beforeEach(async () => {
  service = await startFeedService()
  key = drawKey()
  service.upsert(policyKey(key, 1, { expires_at: new Date(Date.now() + 30_000).toISOString() }))
})
afterEach(() => service.close())

/** A node whose time a test advances. */
function openTimed() {
  const time = { passedMs: 0 }
  const errors: string[] = []
  const clock = { wall: () => Date.now() + time.passedMs, monotonic: () => performance.now() + time.passedMs }
  const options = { url: service.url, secretKey, project, pollIntervalMs: 100, cachedTtlMs: 10_000 }
  const keyring = openKeyring(
    { ...options, onError: ({ code }) => errors.push(code) },
    { clock, random: Math.random },
  )
  const polled = async () => {
    const { unchanged } = keyring.stats().polls
    await until(() => keyring.stats().polls.unchanged > unchanged + 1, 'it has polled')
  }
  return { time, errors, keyring, polled }
}

const frozen = (date: Date) => ({ ...deltaOf(service, []), headers: { date: date.toUTCString() } })

test('requests carry Cache-Control: no-store', async () => {
  const { keyring } = openWitness(service)
  await keyring.ready()
  await until(() => service.asked.length > 1, 'a delta was asked for')
  await keyring.close()
  for (const { headers } of service.asked) assert.equal(headers['cache-control'], 'no-store')
})

test('an answer with an Age is refused and reported, unless the Age is 0', async () => {
  const { keyring, errors } = openWitness(service)
  await keyring.ready()
  const fresh = drawKey()
  const answer = snapshotOf(service, { keys: [policyKey(fresh, 2)] })
  // Two caches in a row may each add one.
  for (const [at, age] of ['7', '0, 7'].entries()) {
    service.instead.push({ ...answer, headers: { age } })
    await until(() => errors.length > at || keyring.verify(fresh).valid, 'it is judged')
    assert.equal(errors[at]?.code, 'cached_answer')
  }
  assert.deepEqual([keyring.verify(key).code, keyring.verify(fresh).code], ['valid', 'unknown_key'])
  service.instead.push({ ...answer, headers: { age: '0' } })
  await until(() => keyring.verify(fresh).valid, 'it is taken')
  await keyring.close()
})

test('with a frozen cache keys go stale and stay expired, with one report, until it ends', async () => {
  const { time, errors, keyring, polled } = openTimed()
  await keyring.ready()
  const then = new Date()
  service.misbehave = () => frozen(then)
  await polled()
  assert.equal(keyring.verify(key).code, 'valid')
  time.passedMs = 8_000
  await polled()
  assert.equal(keyring.verify(key).code, 'valid')
  time.passedMs = 13_000
  await polled()
  assert.equal(keyring.verify(key).code, 'stale')
  assert.deepEqual(errors, ['cached_answer'])
  time.passedMs = 60_000
  const dated = () => new Date(Date.now() + time.passedMs)
  service.misbehave = () => frozen(dated())
  await until(() => keyring.verify(key).code === 'expired_key', 'the service has answered anew')
  service.misbehave = () => frozen(then)
  await polled()
  assert.equal(keyring.verify(key).code, 'expired_key')
  assert.equal(errors[1], 'date_back')
  await keyring.close()
})

test('a version that goes back, as after a database restore, is applied and reported', async () => {
  service.upsert(policyKey(drawKey(), 2))
  const { keyring, errors } = openWitness(service)
  await keyring.ready()
  const held = service.version
  service.version = 1
  await until(() => keyring.stats().version === 1, 'the version is taken')
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['version_back'],
  )
  assert.match(errors[0]?.message ?? '', new RegExp(`from ${held} to 1`))
  await keyring.close()
})
