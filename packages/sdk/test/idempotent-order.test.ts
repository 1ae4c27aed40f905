import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { test } from 'node:test'
import express, { type Express, type Response } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import * as ofExpress from '../src/express.ts'
import * as ofHono from '../src/hono.ts'
import { createIdempotency } from '../src/idempotency/idempotent.ts'
import { createLimiter } from '../src/limits/limit.ts'
import { listen, serveFetch } from './fetch-server.ts'
import { startKeyrail } from './service.ts'

/** The order of protections affects the answers only as documented. */
const { patient, issue, openKeyring, vendor } = await startKeyrail()
const month = { id: 'month', window_ms: 31 * 86_400_000, algorithm: 'fixed', scope: 'key', limit: 1 }
const writer = await issue({ scopes: ['orders:read', 'orders:write'] })
const another = await issue({ scopes: ['orders:write', 'orders:read', 'reports'] })
const reader = await issue({ scopes: ['orders:read'] })
const single = await issue({ rate_limits: [month] })
const fresh = await issue({ scopes: ['a'] })
const keyring = await openKeyring()
const idempotency = createIdempotency(patient)
const limiter = createLimiter(patient)
const world = { calls: 0, counted: [] as string[] }
const usage = { count: ({ keyId }: { keyId: string }) => void world.counted.push(keyId) }

/**
 * `POST` routes after `idempotent`: `/write` requires a scope, `/limited` checks limits, `/twice` follows a second
 * `requireKey` and a second `idempotent`, `/thrown` fails with the framework's own 422.
 */
const frameworks: Record<string, () => Promise<string>> = {
  'Express 5': () => expressApi(express),
  'Express 4': () => expressApi(express4),
  Hono: honoApi,
}

async function expressApi(make: typeof express): Promise<string> {
  const { requireKey, requireScope, limit, idempotent } = ofExpress
  const app: Express = make()
  app.use(requireKey(keyring, { usage }), make.json(), idempotent(idempotency))
  const done = (_: unknown, response: Response) => void response.json({ call: ++world.calls })
  app.post('/write', requireScope('orders:write'), done)
  app.post('/limited', limit(limiter), done)
  const again = [requireKey(keyring, { usage }), idempotent(idempotency, { required: true })]
  app.post('/twice', ...again, done)
  app.post('/thrown', (_request, _response, next) => {
    world.calls++
    next(Object.assign(new Error('unwanted'), { status: 422 }))
  })
  return listen(createServer(app.set('env', 'test')))
}

async function honoApi(): Promise<string> {
  const { requireKey, requireScope, idempotent } = ofHono
  const app = new Hono<ofHono.KeyrailEnv>()
  app.use(requireKey(keyring, { usage }), idempotent(idempotency))
  app.post('/write', requireScope('orders:write'), context => context.json({ call: ++world.calls }))
  app.post('/limited', requireKey(keyring, { limiter }), context => context.json({ call: ++world.calls }))
  const again = [requireKey(keyring, { usage }), idempotent(idempotency, { required: true })] as const
  app.post('/twice', ...again, context => context.json({ call: ++world.calls }))
  app.post('/thrown', () => {
    world.calls++
    throw new HTTPException(422)
  })
  return serveFetch(request => app.fetch(request))
}

for (const [name, start] of Object.entries(frameworks)) {
  const url = await start()
  const ask = async (path: string, { key }: { key: string }, idempotencyKey?: string) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.includes('json')
    const { code, call } = (isJson ? JSON.parse(text) : {}) as { code?: string; call?: number }
    assert.equal(answer.headers.get('keyrail-scopes'), null)
    return [answer.status, code ?? call, answer.headers.get('idempotent-replayed')]
  }

  test(`${name}: a key that lacks a scope of the one that executed gets no replay`, async () => {
    const idempotencyKey = randomUUID()
    const first = await ask('/write', writer, idempotencyKey)
    assert.deepEqual(first, [200, world.calls, null])
    assert.deepEqual(await ask('/write', reader, idempotencyKey), [403, 'insufficient_scope', null])
    for (const key of [writer, another]) {
      assert.deepEqual(await ask('/write', key, idempotencyKey), [200, world.calls, 'true'])
    }
  })

  test(`${name}: a refusal for a scope is not kept: a key with it executes`, async () => {
    const idempotencyKey = randomUUID()
    const before = world.calls
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await ask('/write', reader, idempotencyKey), [403, 'insufficient_scope', null])
    }
    assert.deepEqual(await ask('/write', writer, idempotencyKey), [200, before + 1, null])
  })

  test(`${name}: a refusal for a limit is not kept`, async () => {
    await ask('/limited', single)
    const idempotencyKey = randomUUID()
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await ask('/limited', single, idempotencyKey), [429, 'rate_limited', null])
    }
    assert.equal((await ask('/limited', fresh, idempotencyKey))[0], 200)
  })

  test(`${name}: doubled protection executes once and counts once`, async () => {
    const idempotencyKey = randomUUID()
    world.counted = []
    assert.deepEqual(await ask('/twice', writer, idempotencyKey), [200, world.calls, null])
    assert.deepEqual(await ask('/twice', writer, idempotencyKey), [200, world.calls, 'true'])
    assert.deepEqual(world.counted, [writer.id, writer.id])
    assert.deepEqual(await ask('/twice', writer), [400, 'idempotency_key_missing', null])
  })

  test(`${name}: an answer made from a thrown error is kept, since work may have been done`, async () => {
    const idempotencyKey = randomUUID()
    const before = world.calls
    assert.deepEqual(await ask('/thrown', writer, idempotencyKey), [422, undefined, null])
    assert.deepEqual(await ask('/thrown', writer, idempotencyKey), [422, undefined, 'true'])
    assert.equal(world.calls, before + 1)
  })
}

test('all keys here belong to one tenant', () => {
  const tenants = [writer, another, reader, single, fresh].map(({ key }) => {
    const verdict = keyring.verify(key)
    return verdict.valid && verdict.tenantId
  })
  assert.deepEqual(new Set(tenants), new Set([vendor.tenantId]))
})
