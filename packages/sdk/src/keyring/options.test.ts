import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { createAdmin } from '../admin.ts'
import { createIdempotency } from '../idempotency/idempotent.ts'
import { createLimiter } from '../limits/limit.ts'
import { createUsageReporter } from '../usage/reporter.ts'
import { type KeyringOptions, readOptions } from './options.ts'
import { createWorkerKeyring } from './worker-keyring.ts'

const live = drawKey('krsk_live')
const least: KeyringOptions = { baseUrl: 'https://keys.example.com/', secretKey: live, projectId: id(1) }

test('three options are enough, and the rest has its documented defaults', () => {
  const { baseUrl, scope, node, fetch, ...rest } = readOptions(least)
  assert.deepEqual(rest, {
    secretKey: live,
    env: 'live',
    pollIntervalMs: 5_000,
    cachedTtlMs: 60_000,
    maxCachedKeys: 10_000,
    maxAutoCachedKeys: 38_000,
    cacheDir: undefined,
    onUnavailable: undefined,
    onError: undefined,
    onNotice: undefined,
  })
  assert.deepEqual(scope, { projectId: id(1), env: 'live', tenantIds: [], features: [] })
  assert.equal(fetch, globalThis.fetch)
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

test('what is not given is taken from the environment of the process, and its absence is told', () => {
  const given = { KEYRAIL_URL: 'https://keys.example.com', KEYRAIL_SECRET_KEY: live, KEYRAIL_PROJECT: id(7) }
  Object.assign(process.env, given)
  try {
    const { baseUrl, secretKey, scope } = readOptions({})
    assert.deepEqual([baseUrl.href, secretKey, scope.projectId], ['https://keys.example.com/', live, id(7)])
    assert.equal(readOptions(least).scope.projectId, id(1))
    process.env.KEYRAIL_PROJECT = ''
    assert.throws(() => readOptions({}), /projectId is not given, and KEYRAIL_PROJECT is not set/)
  } finally {
    for (const name of Object.keys(given)) delete process.env[name]
  }
  assert.throws(() => readOptions({ ...least, baseUrl: undefined }), /KEYRAIL_URL is not set/)
  assert.throws(() => readOptions({ ...least, secretKey: undefined }), /KEYRAIL_SECRET_KEY is not set/)
})

test('http reaches this machine alone, unless the secret key may be read on its way', () => {
  const own = ['localhost', 'keys.localhost', '127.0.0.1:8080', '127.8.9.1', '[::1]:8080']
  for (const host of own)
    assert.equal(readOptions({ ...least, baseUrl: `http://${host}` }).baseUrl.protocol, 'http:')
  for (const host of [
    'keys.internal',
    '10.0.0.7',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '[::2]',
    '0.0.0.0',
  ]) {
    const baseUrl = `http://${host}:8080`
    const told = (error: Error) =>
      error instanceof TypeError &&
      error.message.includes(`${host} is not this machine`) &&
      /https.*insecure: true/.test(error.message)
    assert.throws(() => readOptions({ ...least, baseUrl }), told)
    assert.throws(() => readOptions({ ...least, baseUrl, insecure: false }), told)
    assert.equal(readOptions({ ...least, baseUrl, insecure: true }).baseUrl.host, `${host}:8080`)
    const connection = { baseUrl, secretKey: live, projectId: id(1) }
    const { projectId, ...withoutProject } = connection
    assert.throws(() => createLimiter(connection), told)
    assert.throws(() => createIdempotency(connection), told)
    assert.throws(() => createWorkerKeyring(connection), told)
    assert.throws(() => createUsageReporter(withoutProject), told)
    assert.throws(() => createAdmin(withoutProject), told)
    createLimiter({ ...connection, insecure: true })
    createIdempotency({ ...connection, insecure: true })
    createAdmin({ ...withoutProject, insecure: true })
  }
  const wrong = { ...least, insecure: 'yes' as unknown as boolean }
  assert.throws(() => readOptions(wrong), /insecure must be true or false/)
})

test('of a secret key that a function returns the environment is live, unless another is asked for', () => {
  const secretKey = () => assert.fail('called before there is a call')
  assert.equal(readOptions({ ...least, secretKey }).env, 'live')
  assert.equal(readOptions({ ...least, secretKey, env: 'test' }).env, 'test')
})

test('tenant ids are sorted and told once each', () => {
  const { scope } = readOptions({ ...least, tenantIds: [id(3).toUpperCase(), id(2), id(3)] })
  assert.deepEqual(scope.tenantIds, [id(2), id(3)])
  assert.deepEqual(readOptions({ ...least, tenantIds: [] }).scope.tenantIds, [])
})

test('a wrong option is a TypeError that names it and never shows the secret', () => {
  const wrong: [name: string, options: Record<string, unknown>][] = [
    ['baseUrl', { baseUrl: 'keys.example.com' }],
    ['baseUrl', { baseUrl: 'file:///etc' }],
    ['baseUrl', { baseUrl: undefined }],
    ['baseUrl', { baseUrl: 'https://a:b@keys.example.com' }],
    ['baseUrl', { baseUrl: 'https://keys.example.com?x=1' }],
    ['secretKey', { secretKey: undefined }],
    ['secretKey', { secretKey: `${live}x` }],
    ['secretKey', { secretKey: drawKey('kr_live') }],
    ['projectId', { projectId: 'payments' }],
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
