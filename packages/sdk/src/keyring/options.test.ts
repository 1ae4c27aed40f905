import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { createAdmin } from '../admin.ts'
import { createIdempotency } from '../idempotency/idempotent.ts'
import { createLimiter } from '../limits/limit.ts'
import { createUsageReporter } from '../usage/reporter.ts'
import { keyMemory } from './memory-limit.ts'
import { type KeyringOptions, readOptions } from './options.ts'
import { createWorkerKeyring } from './worker-keyring.ts'

const live = drawKey('krsk_live')
const least: KeyringOptions = { url: 'https://keys.example.com/', secretKey: live, project: id(1) }

test('three options are enough, and the others have their documented defaults', () => {
  const { url, scope, node, fetch, ...rest } = readOptions(least)
  assert.deepEqual(rest, {
    secretKey: live,
    env: 'live',
    pollIntervalMs: 5_000,
    readyTimeoutMs: undefined,
    cachedTtlMs: 60_000,
    maxCachedKeys: 10_000,
    maxAutoCachedKeys: 38_000,
    cacheDir: undefined,
    onUnavailable: undefined,
    onError: undefined,
    onNotice: undefined,
    tellsEnd: true,
  })
  assert.deepEqual(scope, {
    projectId: id(1),
    env: 'live',
    tenantIds: [],
    features: ['cidr', 'external_id', 'imported', 'key_meta', 'lifetime', 'suspended'],
    service: 'https://keys.example.com/',
  })
  assert.equal(fetch, undefined)
})

test('a keyring takes the environment of its secret key, so that production takes no test key', () => {
  const testing = drawKey('krsk_test')
  assert.equal(readOptions({ ...least, secretKey: testing }).env, 'test')
  assert.equal(readOptions({ ...least, env: 'test' }).env, 'test')
  assert.equal(readOptions({ ...least, env: 'both' }).env, 'both')
  for (const env of ['live', 'both'] as const) {
    assert.throws(() => readOptions({ ...least, secretKey: testing, env }), /a test secret key cannot see/)
  }
})

test('missing options come from the environment, or else are named in an error', () => {
  const given = { KEYRAIL_URL: 'https://keys.example.com', KEYRAIL_SECRET_KEY: live, KEYRAIL_PROJECT: id(7) }
  Object.assign(process.env, given)
  try {
    const { url, secretKey, scope } = readOptions({})
    assert.deepEqual([url.href, secretKey, scope.projectId], ['https://keys.example.com/', live, id(7)])
    assert.equal(readOptions(least).scope.projectId, id(1))
    process.env.KEYRAIL_PROJECT = ''
    assert.throws(() => readOptions({}), /project is not given, and KEYRAIL_PROJECT is not set/)
  } finally {
    for (const name of Object.keys(given)) delete process.env[name]
  }
  assert.throws(() => readOptions({ ...least, url: undefined }), /KEYRAIL_URL is not set/)
  assert.throws(() => readOptions({ ...least, secretKey: undefined }), /KEYRAIL_SECRET_KEY is not set/)
})

test('http is allowed only to this machine, unless insecure is set', () => {
  const own = ['localhost', 'keys.localhost', '127.0.0.1:8080', '127.8.9.1', '[::1]:8080']
  for (const host of own) assert.equal(readOptions({ ...least, url: `http://${host}` }).url.protocol, 'http:')
  for (const host of [
    'keys.internal',
    '10.0.0.7',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '[::2]',
    '0.0.0.0',
  ]) {
    const url = `http://${host}:8080`
    const isRefused = (error: Error) =>
      error instanceof TypeError &&
      error.message.includes(`${host} is not this machine`) &&
      /https.*insecure: true/.test(error.message)
    assert.throws(() => readOptions({ ...least, url }), isRefused)
    assert.throws(() => readOptions({ ...least, url, insecure: false }), isRefused)
    assert.equal(readOptions({ ...least, url, insecure: true }).url.host, `${host}:8080`)
    const connection = { url, secretKey: live, project: id(1) }
    const { project, ...withoutProject } = connection
    assert.throws(() => createLimiter(connection), isRefused)
    assert.throws(() => createIdempotency(connection), isRefused)
    assert.throws(() => createWorkerKeyring(connection), isRefused)
    assert.throws(() => createUsageReporter(withoutProject), isRefused)
    assert.throws(() => createAdmin(withoutProject), isRefused)
    createLimiter({ ...connection, insecure: true })
    createIdempotency({ ...connection, insecure: true })
    createAdmin({ ...withoutProject, insecure: true })
  }
  const wrong = { ...least, insecure: 'yes' as unknown as boolean }
  assert.throws(() => readOptions(wrong), /insecure must be true or false/)
})

test('with a secretKey function the environment is live by default', () => {
  const secretKey = () => assert.fail('called before any call of the service')
  assert.equal(readOptions({ ...least, secretKey }).env, 'live')
  assert.equal(readOptions({ ...least, secretKey, env: 'test' }).env, 'test')
})

test('with `memory` the limit follows what the process may use', () => {
  const { maxAutoCachedKeys, keyMemory: bytes } = readOptions({ ...least, maxAutoCachedKeys: 'memory' })
  assert.equal(bytes, keyMemory())
  assert.equal(maxAutoCachedKeys, Math.min(10_000_000, Math.floor(keyMemory() / 256)))
  assert.equal(keyMemory(512 * 2 ** 20), 64 * 2 ** 20)
})

test('tenant ids are sorted and unique', () => {
  const { scope } = readOptions({ ...least, tenantIds: [id(3).toUpperCase(), id(2), id(3)] })
  assert.deepEqual(scope.tenantIds, [id(2), id(3)])
  assert.deepEqual(readOptions({ ...least, tenantIds: [] }).scope.tenantIds, [])
})

test('a wrong option is a TypeError that names it and never shows the secret', () => {
  const wrong: [name: string, options: Record<string, unknown>][] = [
    ['url', { url: 'keys.example.com' }],
    ['url', { url: 'file:///etc' }],
    ['url', { url: undefined }],
    ['url', { url: 'https://a:b@keys.example.com' }],
    ['url', { url: 'https://keys.example.com?x=1' }],
    ['secretKey', { secretKey: undefined }],
    ['secretKey', { secretKey: `${live}x` }],
    ['secretKey', { secretKey: drawKey('kr_live') }],
    ['project', { project: 'payments' }],
    ['env', { env: 'prod' }],
    ['tenantIds', { tenantIds: id(1) }],
    ['tenantIds.1', { tenantIds: [id(1), 'x'] }],
    ['tenantIds', { tenantIds: Array.from({ length: 51 }, (_, at) => id(at)) }],
    ['pollIntervalMs', { pollIntervalMs: 0 }],
    ['pollIntervalMs', { pollIntervalMs: '5000' }],
    ['cachedTtlMs', { cachedTtlMs: Number.NaN }],
    ['cachedTtlMs', { cachedTtlMs: Number.POSITIVE_INFINITY }],
    ['cachedTtlMs', { cachedTtlMs: 5_000 }],
    ['cachedTtlMs', { cachedTtlMs: 60_001 }],
    ['maxCachedKeys', { maxCachedKeys: 0 }],
    ['maxAutoCachedKeys', { maxAutoCachedKeys: -1 }],
    ['maxAutoCachedKeys', { maxAutoCachedKeys: 'Memory' }],
    ['node', { node: 'a b' }],
    ['node', { node: 'x'.repeat(129) }],
    ['fetch', { fetch: 'fetch' }],
    ['onError', { onError: true }],
    ['onNotice', { onNotice: {} }],
    ['cacheDir', { cacheDir: '' }],
    ['cacheDir', { cacheDir: true }],
    ['cacheDir', { cacheDir: '/tmp/a\0b' }],
    ['onUnavailable', { onUnavailable: 'allow' }],
    ['tenantId', { tenantId: id(1) }],
  ]
  for (const [name, options] of wrong) {
    assert.throws(
      () => readOptions({ ...least, ...options }),
      (error: Error) =>
        error instanceof TypeError && error.message.includes(name) && !error.message.includes(live.slice(10)),
      name,
    )
  }
  assert.throws(() => readOptions(undefined as unknown as KeyringOptions), TypeError)
})
