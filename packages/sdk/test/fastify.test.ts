import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fastify, { type FastifyRequest } from 'fastify'
import { apiKeyOf, embedHandler, type KeyrailPluginOptions, keyrailPlugin } from '../src/fastify.ts'
import { createTestKeyring } from '../src/testing.ts'
import { testEmbed } from './embed-suite.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Fastify', async ({ work, ...parts }) => {
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  await app.register(keyrailPlugin, parts)
  app.get('/orders', async request => ({ tenantId: apiKeyOf(request).tenantId }))
  app.get('/write', { config: { keyrail: { scopes: ['orders:write'], cost: 2 } } }, async () => 'wrote')
  app.post('/payments', async ({ body }, reply) => {
    const done = await work(body)
    return reply.code(201).header('location', `/payments/${done.calls}`).send(done)
  })
  app.post('/broken', async ({ body }) => {
    await work(body)
    throw new Error('broken')
  })
  app.post('/large', async ({ body }) => {
    await work(body)
    return 'x'.repeat(2_000)
  })
  return app.listen({ port: 0, host: '127.0.0.1' })
})

testGate('Fastify', async ({ keyring, idempotency, options }) => {
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  await app.register(keyrailPlugin, { keyring, idempotency, ...options })
  const answer = async ({ apiKey }: FastifyRequest) => ({ keyId: apiKey?.keyId ?? null })
  app.get('/plain', answer)
  app.get('/scoped', { config: { keyrail: { scopes: ['admin'] } } }, answer)
  app.post('/once', answer)
  return app.listen({ port: 0, host: '127.0.0.1' })
})

testEmbed('Fastify', async ({ embed, customerOf, options }) => {
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  const check = ({ headers }: FastifyRequest) => customerOf(headers['x-session']?.toString())
  app.all('/token', embedHandler(embed, check, options))
  return app.listen({ port: 0, host: '127.0.0.1' })
})

test('Fastify: public routes, and routes outside a protected plugin, need no key', async () => {
  const keyring = createTestKeyring()
  const { key } = keyring.issue()
  const app = fastify()
  after(() => app.close())
  app.get('/beside', async () => 'beside')
  await app.register(async part => {
    await part.register(keyrailPlugin, { keyring })
    part.get('/open', { config: { keyrail: { public: true } } }, async ({ apiKey }) => `${apiKey}`)
    part.get('/mistaken', { config: { keyrail: { public: true } } }, async request => apiKeyOf(request).keyId)
    part.get('/closed', async request => apiKeyOf(request).keyId)
  })
  const status = async (url: string, headers = {}) => (await app.inject({ url, headers })).statusCode
  assert.deepEqual(
    [
      await status('/beside'),
      await status('/open'),
      await status('/mistaken'),
      await status('/closed'),
      await status('/closed', { authorization: `Bearer ${key}` }),
    ],
    [200, 200, 500, 401, 200],
  )
  assert.equal((await app.inject('/open')).body, 'undefined')
})

test('Fastify: a wrong option is an error at startup, never an open route', async () => {
  const app = fastify()
  await assert.rejects(async () => app.register(keyrailPlugin, { keyring: undefined as never }), TypeError)
  const keyring = createTestKeyring()
  const misspelt = { keyring, scope: ['admin'] } as KeyrailPluginOptions
  await assert.rejects(
    async () => fastify().register(keyrailPlugin, misspelt),
    /keyrailPlugin has no option "scope"/,
  )
})

test('Fastify: a wrong route config is an error at startup, or with every request of the route', async () => {
  const keyring = createTestKeyring()
  const { key } = keyring.issue()
  const app = fastify()
  after(() => app.close())
  const misspelt = { config: { keyrail: { scope: ['admin'] } as object } }
  app.get('/before', misspelt, async () => 'open')
  await app.register(keyrailPlugin, { keyring })
  assert.throws(() => app.get('/behind', misspelt, async () => 'open'), /has no option "scope"/)
  const costly = { config: { keyrail: { cost: 1_001 } } }
  assert.throws(() => app.get('/costly', costly, async () => 'open'), /cost must be an integer/)
  const required = { config: { keyrail: { idempotencyRequired: true } } }
  assert.throws(() => app.post('/required', required, async () => 'open'), TypeError)
  for (const demand of [{ scopes: ['admin'] }, { cost: 2 }]) {
    const both = { config: { keyrail: { public: true, ...demand } } }
    assert.throws(() => app.get('/both', both, async () => 'open'), TypeError)
  }
  const opened = { config: { keyrail: { public: 'no' as never } } }
  assert.throws(() => app.get('/opened', opened, async () => 'open'), /public must be true or false/)
  const answer = await app.inject({ url: '/before', headers: { authorization: `Bearer ${key}` } })
  assert.equal(answer.statusCode, 500)
})
