import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import express from 'express'
import { drawKey, id } from '../test/keys.ts'
import { until } from '../test/until.ts'
import { idempotent, limit, type RequireKeyOptions, requireKey, requireScope } from './express.ts'
import type { Keyring } from './keyring/keyring.ts'
import { digestOf } from './runtime/digest.ts'
import { Store } from './store/store.ts'
import { createVerify, type Served } from './verify/verify.ts'

const key = drawKey()
const store = new Store(10)
store.upsert({
  keyId: id(1),
  tenantId: id(2),
  env: 'live',
  digest: digestOf(key),
  scopes: ['orders:read'],
  rateLimits: undefined,
  expiresAt: Number.POSITIVE_INFINITY,
})
store.confirm(0)
const served: Served = { store, hits: 0, misses: 0, evictions: 0 }
const time = { now: 0 }
const clock = { wall: () => 0, monotonic: () => time.now }
const keyring = { verify: createVerify(served, { env: 'live', cachedTtlMs: 60_000, clock }) }

/** A real API with three protected routes. */
async function startApi(options: RequireKeyOptions = {}) {
  const app = express()
  app.use(requireKey(keyring, options))
  app.get('/orders', ({ apiKey }, response) => void response.json(apiKey))
  app.get('/read', requireScope('orders:read'), (_, response) => void response.send('read'))
  app.get('/write', requireScope('orders:read', 'orders:write'), (_, response) => void response.send('wrote'))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async (path: string, headers: Record<string, string | string[]> = {}) => {
    const sent = httpRequest(url + path, { headers, agent: false }).end()
    const [response] = await once(sent, 'response')
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const type = String(response.headers['content-type'])
    return {
      status: response.statusCode,
      headers: response.headers,
      type,
      body: type.includes('json') ? JSON.parse(text) : text,
    }
  }
}

const ask = await startApi()
const bearer = { authorization: `Bearer ${key}` }

test('a request with a valid key reaches the route, which gets the key', async () => {
  const { status, body } = await ask('/orders', bearer)
  assert.equal(status, 200)
  assert.deepEqual([body.keyId, body.tenantId, body.scopes], [id(1), id(2), ['orders:read']])
})

test('a missing, mistyped or unknown key gets a 401 problem with its code', async () => {
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
  for (const [headers, code, challenge] of [
    [{}, 'missing_key', 'Bearer'],
    [{ authorization: `Bearer ${wrong}` }, 'malformed_key', 'Bearer error="invalid_token"'],
    [{ authorization: key }, 'malformed_key', 'Bearer error="invalid_token"'],
    [{ authorization: `Bearer ${drawKey()}` }, 'unknown_key', 'Bearer error="invalid_token"'],
    [{ authorization: `Bearer ${drawKey('kr_test')}` }, 'wrong_env', 'Bearer error="invalid_token"'],
  ] as const) {
    const { status, headers: answered, type, body } = await ask('/orders', headers)
    assert.deepEqual([status, body.code, answered['www-authenticate']], [401, code, challenge])
    assert.match(type, /^application\/problem\+json/)
  }
})

test('two Authorization headers are refused, even with the same valid key', async () => {
  const { status, body } = await ask('/orders', { authorization: [`Bearer ${key}`, `Bearer ${key}`] })
  assert.deepEqual([status, body.code], [401, 'malformed_key'])
})

test('a key without a scope of the route or the API gets 403 with the scopes', async () => {
  assert.equal((await ask('/read', bearer)).status, 200)
  const { status, body, headers } = await ask('/write', bearer)
  assert.deepEqual(
    [status, body.code, body.scopes],
    [403, 'insufficient_scope', ['orders:read', 'orders:write']],
  )
  assert.match(String(headers['www-authenticate']), /scope="orders:read orders:write"/)
  const admin = await startApi({ scopes: ['admin'] })
  assert.equal((await admin('/orders', bearer)).status, 403)
})

test('a node that lost the service answers 503 with Retry-After, not 401', async () => {
  time.now = 60_000
  try {
    const { status, body, headers } = await ask('/orders', bearer)
    assert.deepEqual([status, body.code, headers['retry-after']], [503, 'stale', '5'])
  } finally {
    time.now = 0
  }
})

test('another header can hold the key, and then Authorization does not', async () => {
  const other = await startApi({ header: 'X-API-Key' })
  assert.equal((await other('/orders', { 'x-api-key': key })).status, 200)
  const { status, body } = await other('/orders', bearer)
  assert.deepEqual([status, body.code], [401, 'missing_key'])
  assert.match(body.detail, /x-api-key/)
})

test('middleware before requireKey answers 500, and warns about the order once', async () => {
  const asked = () => assert.fail('asked')
  const app = express()
  app.get('/scope', requireScope('orders:read'))
  app.get('/limit', limit({ limit: asked }))
  app.post('/once', idempotent({ maxBodyBytes: 0, claim: asked, close: asked }))
  app.use(requireKey(keyring), (_, response) => void response.send('open'))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const warned: string[] = []
  const listen = ({ name, message }: Error) => void (name === 'KeyrailWarning' && warned.push(message))
  process.on('warning', listen)
  for (const [path, name] of [
    ['/scope', 'requireScope'],
    ['/limit', 'limit'],
    ['/once', 'idempotent'],
  ] as const) {
    for (let round = 0; round < 2; round++) {
      const answer = await fetch(url + path, {
        method: name === 'idempotent' ? 'POST' : 'GET',
        headers: bearer,
      })
      assert.deepEqual(
        [answer.status, ((await answer.json()) as { code: string }).code],
        [500, 'internal_error'],
      )
    }
    await until(() => warned.length > 0, 'it is reported')
    assert.deepEqual(
      [warned.length, warned.pop()?.includes(`Put requireKey(keyring) before ${name} on`)],
      [1, true],
    )
  }
  process.off('warning', listen)
})

test('a key sent in the wrong way gets a problem that says how to send it', async () => {
  const basic = Buffer.from(`${key}:`).toString('base64')
  for (const [authorization, detail] of [
    [key, /without the word Bearer: send it as "Authorization: Bearer <key>"/],
    [`Basic ${basic}`, /not sent as Bearer: send it as "Authorization: Bearer <key>"/],
    ['Bearer', /No API key follows the word Bearer: send it as "Authorization: Bearer <key>"/],
    [[`Bearer ${key}`, `Bearer ${key}`], /More than one API key was presented: send one/],
  ] as const) {
    const { status, body } = await ask('/orders', { authorization: authorization as string })
    assert.deepEqual([status, body.code], [401, 'malformed_key'])
    assert.match(body.detail, detail)
    assert.ok(!body.detail.includes(key))
  }
})

test('a wrong option is an error at startup, never an open route', () => {
  assert.throws(() => requireKey(undefined as unknown as Keyring), TypeError)
  assert.throws(() => requireKey(keyring, { scopes: 'admin' as unknown as string[] }), TypeError)
  assert.throws(() => requireKey(keyring, { header: 'x api key' }), TypeError)
  assert.throws(() => requireScope(), TypeError)
  const asked = () => assert.fail('asked')
  const idempotency = { maxBodyBytes: 0, claim: asked, close: asked }
  for (const mistake of [
    () => requireKey(keyring, { scope: ['admin'] } as object),
    () => limit({ limit: asked }, { costs: 5 } as object),
    () => idempotent(idempotency, { require: true } as object),
  ]) {
    assert.throws(mistake, {
      name: 'TypeError',
      message: /has no option "(scope|costs|require)"(: it is called "\w+")?$/,
    })
  }
  assert.throws(() => requireScope(''), TypeError)
  for (const cost of [-1, 1.5, 1_001, '2', null] as number[]) {
    assert.throws(() => limit({ limit: asked }, { cost }), /cost must be an integer from 0 to 1000/)
  }
})
