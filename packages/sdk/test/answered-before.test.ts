import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import express, { type Express, type RequestHandler } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify from 'fastify'
import { idempotent, limit, requireKey } from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import { createIdempotency, type Idempotency } from '../src/idempotency/idempotent.ts'
import { createLimiter } from '../src/limits/limit.ts'
import { listen } from './fetch-server.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** Other middleware, such as one with a timeout, answers a request while the service is still being called. */
const { settings, issue, openKeyring } = await startKeyrail()
const month = { id: 'month', window_ms: 31 * 86_400_000, algorithm: 'fixed', scope: 'key', limit: 1_000 }
const { key } = await issue({ rate_limits: [month] })
const keyring = await openKeyring()
const world = { calls: 0, asked: 0, gate: Promise.resolve(), late: Promise.withResolvers<void>() }
const slow = {
  ...settings,
  async fetch(...asked: Parameters<typeof fetch>) {
    const answer = await fetch(...asked)
    world.asked++
    await world.gate
    return answer
  },
}
const idempotency = createIdempotency(slow)

const timeOut: RequestHandler = (_request, response, next) => {
  world.late.promise.then(() => response.headersSent || response.status(503).send('late'))
  next()
}

async function expressApi(make: typeof express, protection: RequestHandler): Promise<string> {
  const app: Express = make()
  app.use(timeOut, requireKey(keyring), protection)
  app.post('/', (_, response) => void response.json({ call: ++world.calls }))
  return listen(createServer(app))
}

async function fastifyApi(claims: Idempotency): Promise<string> {
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  app.addHook('onRequest', async (_, reply) => {
    world.late.promise.then(() => reply.sent || reply.code(503).send('late'))
  })
  await app.register(keyrailPlugin, { keyring, idempotency: claims })
  app.post('/', async () => ({ call: ++world.calls }))
  return app.listen({ port: 0, host: '127.0.0.1' })
}

for (const [name, url] of [
  ['Express 5', await expressApi(express, idempotent(idempotency))],
  ['Express 4', await expressApi(express4, idempotent(idempotency))],
  ['Express 5 with a limit', await expressApi(express, limit(createLimiter(slow)))],
  ['Express 4 with a limit', await expressApi(express4, limit(createLimiter(slow)))],
  ['Fastify', await fastifyApi(idempotency)],
] as const) {
  test(`${name}: a request answered before its check ends is not executed, a retry is`, async () => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': randomUUID() }
    const ask = async () => (await fetch(url, { method: 'POST', headers })).status
    const before = world.calls
    const { promise, resolve } = Promise.withResolvers<void>()
    Object.assign(world, { asked: 0, gate: promise, late: Promise.withResolvers<void>() })
    const first = ask()
    await until(() => world.asked === 1, 'the service has answered')
    world.late.resolve()
    assert.equal(await first, 503)
    Object.assign(world, { gate: undefined, late: Promise.withResolvers<void>() })
    resolve()
    await until(async () => (await ask()) === 200, 'the claim is released')
    assert.equal(world.calls, before + 1)

    if (name.includes('limit')) return
    const again = Promise.withResolvers<void>()
    Object.assign(world, { asked: 0, gate: again.promise, late: Promise.withResolvers<void>() })
    const replayed = ask()
    await until(() => world.asked === 1, 'the service has answered')
    world.late.resolve()
    assert.equal(await replayed, 503)
    Object.assign(world, { gate: undefined, late: Promise.withResolvers<void>() })
    again.resolve()
    assert.deepEqual([await ask(), world.calls], [200, before + 1])
  })
}
