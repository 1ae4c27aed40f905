import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createTestIdempotency,
  createTestKeyring,
  createTestLimiter,
  createTestUsage,
} from '../src/testing.ts'
import type { BuildApi } from './protected-api.ts'

/** The API of `protected-api.ts` on the test doubles in place of a service. */
export function testDoubles(name: string, buildApi: BuildApi): void {
  test(`${name}: the test doubles protect the API as the service does`, async () => {
    const quiet = { onError: () => {} }
    const keyring = createTestKeyring()
    const limiter = createTestLimiter(quiet)
    const idempotency = createTestIdempotency(quiet)
    const usage = createTestUsage()
    let calls = 0
    const work = async (body: unknown) => ({ calls: ++calls, body })
    const url = await buildApi({ keyring, limiter, idempotency, usage, work })
    const rule = { id: 'minute', limit: 4, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }
    const { key, keyId } = keyring.issue({ rateLimits: [rule] })
    const ask = async (path: string, body?: string) => {
      const response = await fetch(url + path, {
        headers: {
          authorization: `Bearer ${key}`,
          connection: 'close',
          ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': 'a' }),
        },
        ...(body !== undefined && { method: 'POST', body }),
      })
      const { status, headers } = response
      const { code } = (await response.json()) as { code?: string }
      return [status, code, headers.get('ratelimit'), headers.get('idempotent-replayed')]
    }
    assert.deepEqual(await ask('/orders'), [200, undefined, '"minute";r=3;t=60', null])
    assert.deepEqual(await ask('/payments', '{}'), [201, undefined, '"minute";r=2;t=60', null])
    assert.deepEqual(await ask('/payments', '{}'), [201, undefined, '"minute";r=1;t=60', 'true'])
    const other = await ask('/payments', '[]')
    assert.deepEqual(other.slice(0, 2), [422, 'idempotency_key_reused'])
    assert.deepEqual((await ask('/orders')).slice(0, 2), [429, 'rate_limited'])
    limiter.advance(60_000)
    assert.equal((await ask('/orders'))[0], 200)
    idempotency.lose()
    assert.deepEqual((await ask('/payments', '{}')).slice(0, 2), [503, 'idempotency_unavailable'])
    limiter.lose()
    assert.deepEqual((await ask('/orders')).slice(0, 2), [503, 'limits_unavailable'])
    limiter.recover()
    idempotency.recover()
    assert.deepEqual((await ask('/payments', '{}')).slice(0, 2), [201, undefined])
    assert.equal(calls, 1)
    const { [keyId]: counted = 0 } = await usage.reported()
    assert.ok(counted >= 5 && counted <= 7, `${counted} requests of those that were let pass`)
    await usage.close()
  })
}
