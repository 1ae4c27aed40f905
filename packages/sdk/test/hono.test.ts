import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { embedHandler, idempotent, type KeyrailEnv, requireKey, requireScope } from '../src/hono.ts'
import { createIdempotency } from '../src/idempotency/idempotent.ts'
import { createLimiter } from '../src/limits/limit.ts'
import { createTestKeyring } from '../src/testing.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { testEmbed } from './embed-suite.ts'
import { serveFetch } from './fetch-server.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'
import { startKeyrail } from './service.ts'

await testProtectedApi('Hono', async ({ keyring, limiter, idempotency, usage, work }) => {
  const app = new Hono<KeyrailEnv>()
  app.get('/write', requireKey(keyring, { limiter, usage, cost: 2 }), requireScope('orders:write'), context =>
    context.text('wrote'),
  )
  app.use(requireKey(keyring, { limiter, usage }), idempotent(idempotency))
  app.get('/orders', context => context.json({ tenantId: context.get('apiKey').tenantId }))
  app.post('/payments', async context => {
    const done = await work(await context.req.json())
    return context.json(done, 201, { location: `/payments/${done.calls}` })
  })
  app.post('/broken', async () => {
    await work(undefined)
    throw new HTTPException(503)
  })
  app.post('/large', async context => {
    await work(await context.req.json())
    return context.text('x'.repeat(2_000))
  })
  return serveFetch(request => app.fetch(request))
})

testEmbed('Hono', async ({ embed, customerOf, options }) => {
  const app = new Hono()
  app.all(
    '/token',
    embedHandler(embed, context => customerOf(context.req.header('x-session')), options),
  )
  return serveFetch(request => app.fetch(request))
})

testGate(
  'Hono',
  async ({ keyring, idempotency, options }) => {
    const app = new Hono<{ Variables: { apiKey: Valid | undefined } }>()
    app.use(requireKey(keyring, { optional: false, ...options }) as MiddlewareHandler)
    const answer = (context: Context) => context.json({ keyId: context.get('apiKey')?.keyId ?? null })
    app.get('/plain', answer)
    app.get('/scoped', requireScope('admin') as MiddlewareHandler, answer)
    app.post('/once', idempotent(idempotency) as MiddlewareHandler, answer)
    app.onError((_error, context) => context.body(null, 500))
    return serveFetch(request => app.fetch(request))
  },
  { knowsPeer: false },
)

test('Hono: a route may forward its request, and return a response with immutable headers', async () => {
  const behind = await serveFetch(
    async request => new Response(`received ${await request.text()}`, { status: 201 }),
  )
  const { valid, patient } = await startKeyrail()
  const held = await valid({
    rate_limits: [
      { id: 'month', window_ms: 31 * 86_400_000, algorithm: 'fixed', scope: 'key', limit: 1_000 },
    ],
  })
  const keyring = { verify: () => held }
  const app = new Hono<KeyrailEnv>()
  const limiter = createLimiter(patient)
  app.use(requireKey(keyring, { limiter }), idempotent(createIdempotency(patient)))
  app.all('/pass', context => {
    const { method, body } = context.req.raw
    return fetch(behind, { method, body, duplex: 'half' } as RequestInit)
  })
  const url = await serveFetch(request => app.fetch(request))
  const pay = async (path: string, body: string, more: Record<string, string> = {}) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      body,
      headers: { authorization: 'Bearer x', ...more },
    })
    assert.match(answer.headers.get('ratelimit') ?? '', /^"month"/)
    return [answer.status, await answer.text(), answer.headers.get('idempotent-replayed')]
  }
  const keyed = { 'idempotency-key': 'passed' }
  assert.deepEqual(await pay('/pass', 'one'), [201, 'received one', null])
  assert.deepEqual(await pay('/pass', 'two', keyed), [201, 'received two', null])
  assert.deepEqual(await pay('/pass', 'two', keyed), [201, 'received two', 'true'])
  assert.equal((await pay('/pass', 'three', keyed))[0], 422)
})

test('Hono: idempotent and the route can read a body that was read before', async () => {
  const { valid, patient } = await startKeyrail()
  const held = await valid()
  const app = new Hono<KeyrailEnv>()
  app.use(async (context, next) => {
    await context.req.json()
    await next()
  })
  app.use(requireKey({ verify: () => held }), idempotent(createIdempotency(patient)))
  app.post('/pay', async context => context.json(await context.req.json()))
  const url = await serveFetch(request => app.fetch(request))
  const headers = { authorization: 'Bearer x', 'idempotency-key': 'a' }
  const pay = async (body: string) => {
    const answer = await fetch(`${url}/pay`, { method: 'POST', body, headers })
    return [answer.status, await answer.text()]
  }
  assert.deepEqual(await pay('{"a":1}'), [200, '{"a":1}'])
  assert.deepEqual(await pay('{"a":1}'), [200, '{"a":1}'])
  assert.equal((await pay('{"a":2}'))[0], 422)
})

test('Hono: requireScope and idempotent without requireKey before them let no request pass', async () => {
  const app = new Hono<KeyrailEnv>()
  app.use('/scope', requireScope('a'))
  app.get('/scope', context => context.text('open'))
  const warned = once(process, 'warning')
  assert.equal((await app.request('/scope')).status, 500)
  const [warning] = await warned
  assert.match(warning.message, /Put requireKey\(keyring\) before requireScope/)
  assert.throws(() => requireScope(), TypeError)
  assert.throws(() => requireKey(undefined as never), TypeError)
  assert.throws(() => idempotent(undefined as never), TypeError)
  const keyring = createTestKeyring()
  assert.throws(() => requireKey(keyring, { header: 'x y' }), TypeError)
  assert.throws(() => requireKey(keyring, { cost: -1 }), /cost must be an integer/)
  const asked = () => assert.fail('asked')
  const idempotency = { maxBodyBytes: 0, claim: asked, close: asked }
  assert.throws(() => requireKey(keyring, { scope: ['admin'] } as object), /requireKey has no option "scope"/)
  assert.throws(
    () => idempotent(idempotency, { require: true } as object),
    /idempotent has no option "require"/,
  )
  assert.throws(() => idempotent(idempotency, { required: 'no' as never }), /required must be true or false/)
})
