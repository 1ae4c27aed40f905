import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FeedService } from '../../test/feed-service.ts'
import { issue, service, start } from '../../test/keyring-stage.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { until } from '../../test/until.ts'

test('every key is refused before the first snapshot, and known keys are valid after it', async () => {
  const key = issue()
  const { keyring, code } = start()
  assert.equal(code(key), 'not_ready')
  await keyring.ready()
  assert.equal(code(key), 'valid')
  assert.equal(code(drawKey()), 'unknown_key')
})

test('a first walk that outlasts its keys is ready when the next answer confirms them', async () => {
  const key = issue()
  for (let number = 2; number <= 73; number++) issue(number)
  service.pageKeys = 1
  const passed = { ms: 0 }
  const startedAt = Date.now()
  service.clock = () => startedAt + passed.ms
  const before = () => {
    passed.ms += 1_000
  }
  for (let page = 0; page < 73; page++) service.instead.push({ before })
  const { keyring, time, errors, code } = start()
  time.monotonic = () => passed.ms
  await keyring.ready()
  assert.equal(code(key), 'valid')
  assert.deepEqual(
    errors.map(error => error.code),
    ['slow_snapshot'],
  )
})

test('a polling node serves a new key and refuses a revoked one', async () => {
  const key = issue()
  const { keyring, code } = start()
  await keyring.ready()
  const fresh = issue(2)
  await until(() => code(fresh) === 'valid', 'the new key works')
  service.revoke(id(1))
  await until(() => code(key) === 'revoked_key', 'the revoked key is refused')
})

test('if the service holds its answers, one request waits for the change and returns it', async () => {
  service.offersWait = true
  const key = issue()
  const { keyring, code } = start({ pollIntervalMs: 20_000 }, () => 0)
  await keyring.ready()
  await until(() => service.paths.includes('delta'), 'the service holds a request')
  service.revoke(id(1))
  await until(() => code(key) === 'revoked_key', 'the revoked key is refused')
  assert.match(String(service.asked[1]?.headers.prefer), /^wait=2\d$/)
  assert.deepEqual(keyring.stats().polls, { snapshot: 1, delta: 1, unchanged: 0, error: 0 })
})

test('a node whose service is away serves for cachedTtlMs, then refuses, and recovers by itself', async () => {
  const key = issue()
  const { keyring, time, errors, code } = start()
  await keyring.ready()
  const port = Number(new URL(service.url).port)
  await service.close()
  await until(() => errors.length > 2, 'polls have failed')
  const now = performance.now()
  time.monotonic = () => now
  const confirmedAt = now - Number(keyring.stats().confirmedAgeMs)
  time.monotonic = () => confirmedAt + 59_999
  assert.equal(code(key), 'valid')
  assert.equal(keyring.stats().serving, true)
  time.monotonic = () => confirmedAt + 60_001
  assert.equal(code(key), 'stale')
  assert.equal(keyring.stats().serving, false)
  assert.equal(keyring.stats().lastError, 'network_error')

  const back = new FeedService()
  back.keys.set(id(1), policyKey(key, 1))
  back.version = service.version
  await back.listen(port)
  try {
    await until(() => code(key) === 'valid', 'the key works again')
    assert.equal(keyring.stats().lastError, null)
  } finally {
    await keyring.close()
    await back.close()
  }
})

test('before the first snapshot a permanent error rejects ready and ends the polling', async () => {
  for (const status of [400, 401, 403, 404]) {
    service.asked.length = 0
    service.instead.push({ status, body: { code: 'refused_here' } })
    const { keyring, errors, code } = start()
    await assert.rejects(keyring.ready(), {
      name: 'KeyrailError',
      code: 'refused_here',
      status,
      retryable: false,
    })
    assert.equal(errors.length, 1)
    assert.equal(code(drawKey()), 'not_ready')
    await keyring.close()
    assert.equal(service.asked.length, 1)
  }
})

test('before the first snapshot a temporary error is retried', async () => {
  const key = issue()
  const headers = { 'content-type': 'text/html' }
  service.instead.push(
    { status: 503 },
    { status: 429, headers: { 'retry-after': '0' } },
    { body: '<html>' },
    // From something in front of the service: the service's own has a code.
    { status: 404, headers, body: '<h1>default backend</h1>' },
    { status: 403, body: { message: 'Forbidden' } },
  )
  const { keyring, errors, code } = start()
  await keyring.ready()
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['http_503', 'http_429', 'bad_response', 'http_404', 'http_403'],
  )
  assert.equal(code(key), 'valid')
})

test('after the first snapshot a refused secret is reported, and polling continues', async () => {
  const key = issue()
  const { keyring, errors, code } = start()
  await keyring.ready()
  for (let times = 0; times < 3; times++) service.instead.push({ status: 401 })
  await until(() => errors.length === 3, 'three polls were refused')
  assert.equal(code(key), 'valid')
  service.revoke(id(1))
  await until(() => code(key) === 'revoked_key', 'polling continues')
})

test('a project that does not fit rejects ready; a serving node reports it with each poll', async () => {
  const key = issue(1)
  const bounds = { maxCachedKeys: 1, maxAutoCachedKeys: 1 }
  const serving = start(bounds)
  await serving.keyring.ready()
  assert.equal(serving.keyring.stats().complete, true)
  const fresh = issue(2)
  await assert.rejects(start(bounds).keyring.ready(), {
    name: 'PolicyScopeTooLargeError',
    refusedToStart: true,
  })
  await until(() => serving.errors.length > 2, 'it was reported repeatedly')
  const [first, ...others] = serving.errors.map(({ code }) => code)
  assert.equal(first, 'nearly_full')
  assert.deepEqual(new Set(others), new Set(['policy_scope_too_large']))
  assert.deepEqual([serving.code(key), serving.code(fresh)], ['not_held', 'valid'])
  const { complete, evictions, keys, evictionRate } = serving.keyring.stats()
  assert.deepEqual([complete, evictions, keys, evictionRate], [false, 1, 1, 0.5])
})

test('a keyring narrowed to tenants is never complete', async () => {
  const { keyring } = start({ tenantIds: [id(0xa000)] })
  await keyring.ready()
  assert.equal(keyring.stats().complete, false)
})

test('close ends the polling, refuses every key, rejects ready, and may be called twice', async () => {
  const key = issue()
  service.offersWait = true
  const { keyring, code } = start()
  await keyring.ready()
  await until(() => service.paths.includes('delta'), 'a request is held')
  await keyring.close()
  await keyring.close()
  assert.equal(code(key), 'not_ready')
  await keyring.ready()

  service.instead.push({ hang: true })
  const waiting = start()
  const ready = assert.rejects(waiting.keyring.ready(), { code: 'closed' })
  await waiting.keyring[Symbol.asyncDispose]()
  await ready
  assert.equal(waiting.errors.length, 0)
})

test('closing does not wait for a fetch that ignores its signal', async () => {
  service.instead.push({ hang: true })
  const { keyring } = start({ fetch: (url, init) => fetch(url, { ...init, signal: null }) })
  await until(() => service.asked.length === 1, 'the service has the request')
  await keyring.close()
  assert.deepEqual(keyring.stats().polls, { snapshot: 0, delta: 0, unchanged: 0, error: 0 })
})
