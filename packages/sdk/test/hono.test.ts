import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { idempotent, type KeyrailEnv, requireKey, requireScope } from '../src/hono.ts'
import { createTestKeyring } from '../src/testing.ts'
import { serveFetch } from './fetch-server.ts'
import { testProtectedApi } from './protected-api.ts'

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

test('Hono: requireScope and idempotent without requireKey before them let nobody pass', async () => {
  const app = new Hono<KeyrailEnv>()
  app.use('/scope', requireScope('a'))
  app.get('/scope', context => context.text('open'))
  assert.equal((await app.request('/scope')).status, 401)
  assert.throws(() => requireScope(), TypeError)
  assert.throws(() => requireKey(undefined as never), TypeError)
  assert.throws(() => idempotent(undefined as never), TypeError)
  assert.throws(() => requireKey(createTestKeyring(), { header: 'x y' }), TypeError)
})
