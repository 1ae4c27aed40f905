import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { until } from '../packages/server/test/until.ts'
import {
  type Gateway,
  type GuardProgram,
  proxies,
  type Service,
  startGuardProgram,
  startService,
  startUpstream,
  type Upstream,
} from './guard-stage.ts'

const minute = { id: 'minute', limit: 2, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

describe('the guard behind the shipped files of proxies', () => {
  let service: Service
  let guard: GuardProgram
  let api: Upstream
  const running: Gateway[] = []
  before(async () => {
    api = await startUpstream()
    service = await startService()
    guard = await startGuardProgram(service.env)
    for (const [, start] of proxies) running.push(await start(Number(new URL(guard.url).port), api.port))
    await until(() => guard.output().includes('the keys are loaded'), 'the guard has keys')
  })
  after(async () => {
    for (const proxy of running) await proxy.close()
    await guard?.end('SIGKILL')
    api?.close()
    await service?.remove()
  })
  const valuesOf = (name: string) => {
    const { rawHeaders = [] } = api.received.at(-1) ?? {}
    return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name)
  }

  for (const [at, [name]] of proxies.entries()) {
    const proxy = () => running[at] as Gateway
    /** A node takes a new key within one poll. */
    const known = async (more: Record<string, unknown> = {}) => {
      const issued = await service.issue({ scopes: ['orders:read'], ...more })
      const { key } = issued
      const isKnown = async () => {
        const { body } = await fetchJson(guard.url, { key, cost: 0 })
        return body.code !== 'unknown_key'
      }
      await until(isKnown, 'the guard knows the key')
      return issued
    }

    test(`${name}: a key passes, by either header, and the API learns whose it is`, async () => {
      const { id, key } = await known()
      for (const headers of [bearer(key), { 'x-api-key': key }]) {
        const { status, body } = await proxy().ask('/orders?x=1', { headers })
        assert.deepEqual([status, body], [200, 'of the API'])
        assert.equal(api.received.at(-1)?.url, '/orders?x=1')
        assert.deepEqual(valuesOf('x-keyrail-key'), [id])
        assert.deepEqual(valuesOf('x-keyrail-tenant'), [service.scene.tenantId])
        assert.deepEqual(valuesOf('x-keyrail-scopes'), ['orders:read'])
        assert.match(String(valuesOf('x-keyrail-external-id')), /^org-/)
      }
    })

    test(`${name}: refusals reach the client with their problem, and the API sees none of them`, async () => {
      const { key } = await known({ scopes: [] })
      const seen = api.received.length
      for (const [headers, status, code] of [
        [{}, 401, 'missing_key'],
        [bearer('wrong'), 401, 'malformed_key'],
        [bearer(key), 403, 'insufficient_scope'],
      ] as const) {
        const heard = await proxy().ask('/orders', { headers })
        assert.deepEqual([heard.status, heard.body.code], [status, code])
        assert.equal(heard.headers['content-type'], 'application/problem+json')
        assert.ok(status === 403 || /^Bearer\b[^,]*$/.test(String(heard.headers['www-authenticate'])))
      }
      assert.equal(api.received.length, seen)
    })

    test(`${name}: a revoked key is refused within one poll`, async () => {
      const { id, key } = await known()
      assert.equal((await proxy().ask('/', { headers: bearer(key) })).status, 200)
      const revoked = await service.ask('POST', `/v1/keys/${id}/revoke`, { token: service.scene.live })
      assert.equal(revoked.status, 200)
      await until(
        async () => (await proxy().ask('/', { headers: bearer(key) })).status === 401,
        'it is refused',
      )
    })

    test(`${name}: a used-up limit is 429, and the client learns what is left`, async () => {
      const { key } = await known({ rate_limits: [minute] })
      const [first, second, third] = [
        await proxy().ask('/', { headers: bearer(key) }),
        await proxy().ask('/', { headers: bearer(key) }),
        await proxy().ask('/', { headers: bearer(key) }),
      ]
      assert.deepEqual([first.status, second.status, third.status], [200, 200, 429])
      assert.match(String(first.headers.ratelimit), /^"minute";r=1;t=\d+$/)
      assert.equal(first.headers['ratelimit-policy'], '"minute";q=2;w=2678400')
      assert.match(String(third.headers.ratelimit), /^"minute";r=0;t=\d+$/)
      assert.match(String(third.headers['retry-after']), /^\d+$/)
      assert.equal(third.body.code, 'rate_limited')
      const { headers } = await proxy().ask('/', { headers: bearer((await known()).key) })
      assert.equal(headers.ratelimit, undefined)
    })

    test(`${name}: headers that a client forges reach neither the API nor the guard`, async () => {
      const { id, key } = await known()
      const forged = {
        'X-Keyrail-Key': 'forged',
        'x-keyrail-tenant': ['forged', 'forged again'],
        'X-KEYRAIL-SCOPES': 'admin',
        'x-keyrail-external-id': 'forged',
        'x-keyrail-problem': 'forged',
        X_Keyrail_Tenant: 'forged',
      }
      const { status } = await proxy().ask('/', { headers: { ...bearer(key), ...forged } })
      assert.equal(status, 200)
      assert.deepEqual(valuesOf('x-keyrail-key'), [id])
      const { rawHeaders = [] } = api.received.at(-1) ?? {}
      assert.ok(!rawHeaders.some(text => /forged|admin/.test(text)), rawHeaders.join('\n'))
    })

    test(`${name}: a body of 10 MB reaches the API untouched`, async () => {
      const { key } = await known()
      const body = randomBytes(10_000_000)
      const sha256 = createHash('sha256').update(body).digest('hex')
      for (const how of [{ 'content-length': body.length }, { 'transfer-encoding': 'chunked' }]) {
        const { status } = await proxy().ask('/', {
          method: 'POST',
          headers: { ...bearer(key), ...how },
          body,
        })
        const { method, bytes, sha256: arrived } = api.received.at(-1) ?? {}
        assert.deepEqual([status, method, bytes, arrived], [200, 'POST', 10_000_000, sha256])
      }
    })
  }

  test('without the service every proxy is answered from memory, until keys are stale', async () => {
    const { key } = await service.issue({ scopes: ['orders:read'] })
    const statuses = () =>
      Promise.all(running.map(async proxy => (await proxy.ask('/', { headers: bearer(key) })).status))
    await until(async () => (await statuses()).every(status => status === 200), 'the guard knows the key')
    await service.kill()
    assert.deepEqual(await statuses(), [200, 200, 200])
    await until(async () => (await statuses()).every(status => status === 503), 'keys are stale')
    for (const proxy of running) {
      const { body, headers } = await proxy.ask('/', { headers: bearer(key) })
      assert.deepEqual([body.code, headers['retry-after']], ['stale', '5'], proxy.name)
    }
    await guard.end('SIGKILL')
    for (const proxy of running) {
      const { status } = await proxy.ask('/', { headers: bearer(key) })
      assert.ok(status === 503 || status === 502, `${proxy.name}: ${status}`)
    }
  })
})

async function fetchJson(url: string, body: object): Promise<{ body: ReturnType<typeof JSON.parse> }> {
  const answer = await fetch(`${url}/verify`, { method: 'POST', body: JSON.stringify(body) })
  return { body: await answer.json() }
}
