import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, project, secretKey, startFeedService } from '../../test/feed-service.ts'
import { snapshotOf } from '../../test/hostile/node.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { openWorkerKeyring, type WorkerKeyringOptions } from './worker-keyring.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

/** A worker on the test's clock; `request` is its work for each request before it verifies a key. */
function start(options: Partial<WorkerKeyringOptions> = {}) {
  const time = { now: 0 }
  const startedAt = Date.now()
  service.clock = () => startedAt + time.now
  const errors: KeyrailError[] = []
  const behind: Promise<unknown>[] = []
  const keyring = openWorkerKeyring(
    { url: service.url, secretKey, project, onError: error => errors.push(error), ...options },
    { clock: { wall: () => Date.now(), monotonic: () => time.now }, random: () => 0.5 },
  )
  const request = () => keyring.refresh({ waitUntil: work => void behind.push(work) })
  return { keyring, time, errors, behind, request, code: (key: string) => keyring.verify(key).code }
}

function issue(number = 1): string {
  const key = drawKey()
  service.upsert(policyKey(key, number))
  return key
}

test('the first request loads the keys, and later ones find them', async () => {
  const key = issue()
  const { request, code, time } = start()
  for (const text of [key, 'old-key']) assert.equal(code(text), 'not_ready')
  assert.deepEqual(service.paths, [])
  await request()
  assert.equal(code(key), 'valid')
  assert.equal(code('old-key'), 'malformed_key')
  time.now = 4_999
  await request()
  assert.deepEqual(service.paths, ['snapshot'])
})

test('concurrent first requests poll once, and all wait for the keys', async () => {
  const key = issue()
  const { request, code, behind } = start()
  const codes = await Promise.all(Array.from({ length: 20 }, () => request().then(() => code(key))))
  assert.deepEqual(new Set(codes), new Set(['valid']))
  assert.deepEqual([service.paths, behind.length], [['snapshot'], 1])
})

test('a worker asks for suspended tenants, and refuses their keys', async () => {
  const key = drawKey()
  const { request, code } = start({ externalId: false, keyMeta: false })
  const { tenant_id } = policyKey(key, 1)
  const features = ['suspended']
  const tenants = [{ tenant_id, suspended: true }]
  service.instead.push(snapshotOf(service, { features, tenants, keys: [policyKey(key, 1)] }))
  await request()
  assert.equal(service.asked[0]?.url.searchParams.get('features'), 'cidr,imported,lifetime,suspended')
  assert.equal(code(key), 'suspended_tenant')
})

test('after an interval one request polls and is judged by the result; no answer is held', async () => {
  service.offersWait = true
  const [kept, revoked] = [issue(1), issue(2)]
  const { request, code, time } = start()
  await request()
  service.revoke(id(2))
  time.now = 5_000
  await request()
  assert.equal(code(kept), 'valid')
  assert.notEqual(code(revoked), 'valid')
  assert.deepEqual(service.paths, ['snapshot', 'delta'])
  assert.ok(service.asked.every(({ headers }) => headers.prefer === undefined))
})

test('while one request polls, others are judged by the keys held', async () => {
  const key = issue()
  const { request, code, time } = start()
  await request()
  time.now = 5_000
  const { promise, resolve } = Promise.withResolvers<void>()
  service.instead.push({ before: () => promise })
  const asking = request()
  await request()
  assert.equal(code(key), 'valid')
  resolve()
  await asking
  assert.deepEqual(service.paths, ['snapshot', 'delta'])
})

test('while the service is away keys are served for 60 s, then refused, and polls back off', async () => {
  const key = issue()
  const { request, code, time, errors } = start()
  await request()
  const port = Number(new URL(service.url).port)
  await service.close()
  for (const now of [5_000, 5_001, 59_999]) {
    time.now = now
    await request()
    assert.equal(code(key), 'valid', `at ${now}`)
  }
  assert.deepEqual(
    errors.map(error => error.code),
    ['network_error', 'network_error'],
    'no poll a millisecond later',
  )
  time.now = 60_000
  await request()
  assert.equal(code(key), 'stale')
  await service.listen(port)
  time.now = 66_000
  await request()
  assert.equal(code(key), 'valid')
})

test('a Retry-After delays by half of the life left at most, and stale keys by an interval', async () => {
  const key = issue()
  const { request, code, time, errors } = start()
  await request()
  const busy = { status: 503, headers: { 'retry-after': '30' } }
  for (const [now, failed] of [
    [40_000, 1],
    [49_999, 1],
    [50_000, 2],
    [54_999, 2],
    [55_000, 3],
    [60_000, 4],
    [64_999, 4],
  ]) {
    service.instead[0] = busy
    time.now = now ?? 0
    await request()
    assert.equal(errors.length, failed, `at ${now}`)
  }
  service.instead.length = 0
  time.now = 65_000
  await request()
  assert.equal(code(key), 'valid')
})

test('a poll lost with its request blocks no later poll, and changes nothing', async () => {
  const key = issue()
  const { request, code, time, behind } = start()
  const { promise, resolve } = Promise.withResolvers<void>()
  service.instead.push({ before: () => promise })
  void request()
  time.now = 30_000
  await request()
  assert.equal(code(key), 'valid')
  service.revoke(id(1))
  time.now = 35_000
  await request()
  resolve()
  await Promise.all(behind)
  assert.notEqual(code(key), 'valid')
})

test('a wrong secret is reported, and every key is refused', async () => {
  const key = issue()
  const { request, code, errors } = start()
  service.instead.push({ status: 401, body: { code: 'invalid_credential', status: 401 } })
  await request()
  assert.equal(code(key), 'not_ready')
  assert.deepEqual([errors.length, errors[0]?.status], [1, 401])
})

test('too many keys are reported, and none is served', async () => {
  for (let number = 1; number <= 4; number++) issue(number)
  const { request, errors, keyring } = start({ maxCachedKeys: 2, maxAutoCachedKeys: 0 })
  await request()
  assert.deepEqual([errors[0]?.code, keyring.verify(drawKey()).code], ['policy_scope_too_large', 'not_ready'])
})

test('the options are those of a keyring without cacheDir', () => {
  assert.throws(() => start({ cacheDir: '/tmp' } as never), /no cacheDir/)
  assert.throws(() => start({ secretKey: 'x' }), /secretKey/)
  assert.throws(() => start({ polls: 1 } as never), TypeError)
})

test('a worker draws its node name once, with the first request', async () => {
  const { request, time } = start()
  await request()
  time.now = 6_000
  await request()
  const names = new Set(service.asked.map(({ url }) => url.searchParams.get('node')))
  assert.equal(names.size, 1)
  assert.match([...names][0] ?? '', /^worker:\d+\./)
})
