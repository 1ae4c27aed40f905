import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { until } from '../../test/until.ts'
import { createAdmin } from '../admin.ts'
import { createIdempotency, createLimiter, createUsageReporter } from '../index.ts'
import { createKeyring } from '../keyring/keyring.ts'
import { uncachedBy } from './uncached.ts'

test('every call of every part asks the platform to cache nothing', async () => {
  const asked: unknown[] = []
  const connection = {
    url: 'http://localhost:9',
    secretKey: drawKey('krsk_live'),
    onError: () => {},
    fetch: async (_url: unknown, init?: RequestInit) => {
      asked.push(init?.cache)
      throw new Error('away')
    },
  }
  const settings = { ...connection, project: id(1) }
  const key = {
    valid: true,
    code: 'valid',
    keyId: id(2),
    tenantId: id(3),
    env: 'live',
    scopes: [],
    expiresAt: null,
  } as const
  const rateLimits = [{ id: 'a', limit: 1, windowMs: 1_000, algorithm: 'fixed', scope: 'key' }] as const
  await createLimiter(settings).limit({ ...key, rateLimits })
  await createIdempotency(settings).claim({ key, idempotencyKey: 'a', method: 'POST', target: '/', body: '' })
  const { onError: _, ...quiet } = connection
  await createAdmin({ ...quiet, maxRetries: 0 })
    .workspace.get()
    .catch(() => {})
  const usage = createUsageReporter(connection)
  usage.count(key)
  await usage.close({ timeoutMs: 100 })
  const keyring = createKeyring(settings)
  await until(() => keyring.stats().lastError !== null, 'a poll has failed')
  await keyring.close()
  assert.ok(asked.length >= 5, `${asked.length}`)
  assert.deepEqual([...new Set(asked)], ['no-store'])
})

test('a platform that refuses the option is not given it', () => {
  class Refusing {
    constructor(_url: string, init: object) {
      if ('cache' in init)
        throw new Error("The 'cache' field on 'RequestInitializerDict' is not implemented.")
    }
  }
  assert.deepEqual(uncachedBy(Refusing), {})
  assert.deepEqual(uncachedBy(Request), { cache: 'no-store' })
})
