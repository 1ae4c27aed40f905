import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import express, { type RequestHandler } from 'express'
import { createAdmin } from '../src/admin.ts'
import { requireKey } from '../src/express.ts'
import { createKeyrail, type KeyrailOptions } from '../src/index.ts'
import type { KeyrailError } from '../src/runtime/errors.ts'
import { listen } from './fetch-server.ts'
import { startKeyrail } from './service.ts'

/** The lines of README against the real service: what the dashboard says of a key is enforced. */

const { service, settings, connection, issue, vendor } = await startKeyrail()
const rate_limits = [{ id: 'a', limit: 100, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }]
const admin = createAdmin(connection)

async function secretWith(...permissions: string[]): Promise<string> {
  return (await admin.secretKeys.create({ env: 'live', permissions: permissions as never })).key ?? ''
}

function open(options: KeyrailOptions = {}) {
  const errors: KeyrailError[] = []
  const keyrail = createKeyrail({
    ...settings,
    // So short that the service holds no answer, which would delay closing.
    keys: { cachedTtlMs: 10_000 },
    limiter: { timeoutMs: 60_000 },
    onError: error => errors.push(error),
    ...options,
  })
  after(() => keyrail.close({ timeoutMs: 0 }))
  return { keyrail, errors }
}

async function serve(guards: RequestHandler[]): Promise<(key: string) => Promise<number>> {
  const api = express()
  api.use(...guards)
  api.get('/', (_, response) => void response.send('passed'))
  const url = await listen(createServer(api))
  return async key => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' }
    const answer = await fetch(url, { headers })
    await answer.text()
    return answer.status
  }
}

test('of 160 requests of a key with a limit of 100, 100 pass and are counted', async () => {
  const { id, key } = await issue({ rate_limits })
  const { keyrail, errors } = open({
    secretKey: (await admin.secretKeys.create({ env: 'live', preset: 'node' })).key ?? '',
  })
  await keyrail.ready()
  const ask = await serve([requireKey(keyrail)])
  const statuses: number[] = []
  for (let batch = 0; batch < 16; batch++)
    statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => ask(key)))))
  assert.deepEqual(
    [200, 429].map(status => statuses.filter(each => each === status).length),
    [100, 60],
  )
  await keyrail.close()
  const { body } = await service.ask('GET', `/v1/keys/${id}/usage?days=90`, { token: vendor.live })
  assert.equal(body.total, 100)
  assert.deepEqual(
    errors.filter(({ code }) => code === 'insufficient_permission'),
    [],
  )
})

test('ready() says what the secret key may not do, and customers pass', async () => {
  const secretKey = await secretWith('policy:read')
  for (const isEarly of [true, false]) {
    const { key } = await issue({ rate_limits: [{ ...rate_limits[0], limit: 1 }] })
    const { keyrail, errors } = open({ secretKey })
    const early = isEarly && requireKey(keyrail)
    await keyrail.ready()
    assert.equal(errors.length, isEarly ? 2 : 0, 'what no guard needs is not missing')
    const ask = await serve([early || requireKey(keyrail)])
    const reported = errors.map(({ code, message }) => [
      code,
      /permission (\S+)\. (.+): give/.exec(message)?.slice(1),
    ])
    assert.deepEqual(reported, [
      ['insufficient_permission', ['ratelimit:check', 'Requests pass without limits']],
      ['insufficient_permission', ['usage:report', 'Requests are not counted']],
    ])
    assert.deepEqual([await ask(key), await ask(key)], [200, 200])
    await keyrail.usage.flush()
    await keyrail.ready()
    assert.equal(errors.length, 2, 'it is said once')
    await keyrail.close({ timeoutMs: 0 })
  }
})

test('a part that the guard turns off needs no permission, and is not mentioned', async () => {
  const { key } = await issue({ rate_limits })
  const { keyrail, errors } = open({ secretKey: await secretWith('policy:read', 'ratelimit:check') })
  await keyrail.ready()
  const ask = await serve([requireKey(keyrail, { usage: false })])
  assert.equal(await ask(key), 200)
  await keyrail.close()
  assert.deepEqual(errors, [])
})

test('while the service is away, keys with limits are refused and others pass', async () => {
  const [limited, free] = [await issue({ rate_limits }), await issue()]
  let isAway = false
  const { keyrail } = open({
    fetch: async (where, init) => {
      if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      return fetch(where, init)
    },
  })
  await keyrail.ready()
  const ask = await serve([requireKey(keyrail)])
  isAway = true
  assert.deepEqual([await ask(limited.key), await ask(free.key)], [503, 200])
  await keyrail.close({ timeoutMs: 0 })
})
