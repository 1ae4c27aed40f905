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
  service.clock = clock.wall
  const options = { url: service.url, secretKey, project, pollIntervalMs: 100, cachedTtlMs: 10_000 }
  const keyring = openKeyring(
    { ...options, onError: ({ code, message }) => errors.push(`${code}: ${message}`) },
    { clock, random: Math.random },
  )
  const polled = async () => {
    const { unchanged } = keyring.stats().polls
    await until(() => keyring.stats().polls.unchanged > unchanged + 1, 'it has polled')
  }
  return { time, errors, keyring, polled }
}

/** An answer generated then, whose cache writes its own `Date` and no `Age`. */
const frozen = (then: number, headers: Record<string, string> = {}) => ({
  ...deltaOf(service, [], { generated_at: new Date(then).toISOString() }),
  headers: { date: new Date(service.clock()).toUTCString(), ...headers },
})

test('requests carry Cache-Control: no-store', async () => {
  const { keyring } = openWitness(service)
  await keyring.ready()
  await until(() => service.asked.length > 1, 'a delta was asked for')
  await keyring.close()
  for (const { headers } of service.asked) assert.equal(headers['cache-control'], 'no-store')
})

test('an Age and an old Date of a fresh answer have no effect', async () => {
  const { keyring, errors } = openWitness(service)
  await keyring.ready()
  for (const headers of [{ age: '7' }, { age: '0, 70' }, { date: new Date(0).toUTCString() }]) {
    const fresh = drawKey()
    service.instead.push({ ...snapshotOf(service, { keys: [policyKey(fresh, 2)] }), headers })
    await until(() => keyring.verify(fresh).valid, 'it is taken')
    service.version++
    service.floor = service.version
    await until(() => keyring.verify(key).valid, 'the service answers again')
  }
  await keyring.close()
  assert.deepEqual(errors, [])
})

test('with a frozen cache keys go stale and stay expired, with one report, until it ends', async () => {
  const { time, errors, keyring, polled } = openTimed()
  await keyring.ready()
  const then = service.clock()
  service.misbehave = () => frozen(then, { age: '9' })
  await polled()
  assert.equal(keyring.verify(key).code, 'valid')
  time.passedMs = 8_000
  await polled()
  assert.equal(keyring.verify(key).code, 'valid')
  time.passedMs = 13_000
  await polled()
  assert.equal(keyring.verify(key).code, 'stale')
  assert.equal(errors.length, 1)
  assert.match(errors[0] ?? '', /^cached_answer: .*8 s before.*, and its Age is 9 s\. Do not cache/)
  time.passedMs = 100_000
  service.misbehave = () => frozen(service.clock())
  await until(() => keyring.verify(key).code === 'expired_key', 'the service has answered anew')
  service.misbehave = () => frozen(then)
  await polled()
  assert.equal(keyring.verify(key).code, 'expired_key')
  assert.match(errors[1] ?? '', /^date_back: .* went back by 10[01] s/)
  assert.equal(errors.length, 2)
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
