import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import express, { type RequestHandler } from 'express'
import { Hono } from 'hono'
import { requireKey as requireExpressKey, requireScope as requireExpressScope } from '../express.ts'
import { idempotent, type KeyrailEnv, limit, requireKey, requireScope } from '../hono.ts'
import { createTestKeyrail, createTestKeyring } from '../testing.ts'
import { withGateParts } from '../verify/gate-parts.ts'
import { Shadow } from '../verify/shadow.ts'
import type { GateVerdict } from './gate-options.ts'
import { createGate } from './request-gate.ts'
import { withKey } from './with-key.ts'

const minute = { id: 'minute', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const

/** A test keyrail whose gates refuse nothing. */
function shadowed() {
  const keyrail = createTestKeyrail()
  withGateParts(keyrail.keys.verify, { shadow: new Shadow() })
  return keyrail
}

test('a gate in shadow refuses nothing, and hands the verdict over', async () => {
  const keyrail = shadowed()
  const seen: GateVerdict[] = []
  const gate = createGate(keyrail, { onVerdict: verdict => seen.push(verdict) })
  const { key, keyId } = keyrail.issue({ scopes: ['a'] })
  const admit = async (...headers: string[]) => {
    const {
      refusal,
      key,
      verdict,
      headers: own,
    } = await gate.admit({ rawHeaders: headers }, { scopes: ['a', 'b'] })
    assert.deepEqual([refusal, own], [undefined, {}])
    return [verdict?.code, key?.keyId]
  }
  assert.deepEqual(await admit(), ['missing_key', undefined])
  assert.deepEqual(await admit('Authorization', 'Bearer old'), ['malformed_key', undefined])
  assert.deepEqual(await admit('Authorization', 'Basic b2xk'), ['malformed_key', undefined])
  assert.deepEqual(await admit('Authorization', `Bearer ${key}`), ['insufficient_scope', undefined])
  assert.deepEqual(
    seen.map(({ passed, code }) => [passed, code]),
    [
      [false, 'missing_key'],
      [false, 'malformed_key'],
      [false, 'malformed_key'],
      [false, 'insufficient_scope'],
    ],
  )
  assert.deepEqual(await keyrail.usage.reported(), {})
  const { verdict } = await gate.admit({ rawHeaders: ['Authorization', `Bearer ${key}`] })
  assert.equal(verdict?.valid && verdict.keyId, keyId)
  assert.deepEqual(await keyrail.usage.reported(), { [keyId]: 1 })
})

test('a limit that is used up is counted in shadow, and refuses nothing', async () => {
  const keyrail = shadowed()
  const codes: string[] = []
  const gate = createGate(keyrail, { onVerdict: ({ code }) => codes.push(code) })
  const { key, keyId } = keyrail.issue({ rateLimits: [minute] })
  for (let times = 0; times < 3; times++) {
    const admission = await gate.admit({ rawHeaders: ['Authorization', `Bearer ${key}`] })
    assert.deepEqual([admission.key?.keyId, admission.headers], [keyId, {}])
  }
  assert.deepEqual(codes, ['valid', 'rate_limited', 'rate_limited'])
  assert.deepEqual(await keyrail.usage.reported(), { [keyId]: 3 })
})

test('onRefused shapes no answer in shadow', async () => {
  const keyrail = shadowed()
  let shaped = 0
  const handler = withKey(
    keyrail.keys,
    (_, { apiKey, keyrail: verdict }) => Response.json([apiKey === undefined, verdict?.code]),
    { onRefused: () => ({ status: 418 + shaped++ }) },
  )
  const answer = await handler(new Request('http://localhost/'))
  assert.deepEqual([answer.status, await answer.json(), shaped], [200, [true, 'missing_key'], 0])
})

test('what stands behind a gate in shadow refuses nothing either', async () => {
  const keyrail = shadowed()
  const { key, keyId } = keyrail.issue({ rateLimits: [minute] })
  const app = new Hono<KeyrailEnv>()
  app.use(requireKey(keyrail), requireScope('b'))
  app.use(limit(keyrail), idempotent(keyrail, { required: true }))
  app.post('/', context => context.json([context.get('keyrail')?.code, context.get('apiKey')?.keyId ?? null]))
  const ask = async (headers: Record<string, string>) => {
    const answer = await app.request('/', { method: 'POST', headers })
    return [answer.status, await answer.json(), answer.headers.get('ratelimit')]
  }
  assert.deepEqual(await ask({}), [200, ['missing_key', null], null])
  for (let times = 0; times < 2; times++)
    assert.deepEqual(await ask({ authorization: `Bearer ${key}` }), [200, ['valid', keyId], null])
})

test('compare counts where an old check and the keyring disagree, by cause', () => {
  const keyring = createTestKeyring()
  const issued = keyring.issue()
  assert.equal(keyring.compare(issued.key, true).code, 'valid')
  keyring.compare('old', false)
  keyring.compare('old', true)
  keyring.compare(issued.key, false)
  keyring.revoke(issued)
  keyring.compare(issued.key, true)
  keyring.compare(issued.key, true, { scopes: ['a'] })
  assert.deepEqual(keyring.stats().shadow, {
    agreed: 2,
    refusedHere: { malformed_key: 1, revoked_key: 2 },
    acceptedHere: 1,
  })
})

test('a gate in shadow takes nothing from one that refuses, in either order', async () => {
  const strict = createTestKeyrail()
  const trial = shadowed()
  const app = new Hono<KeyrailEnv>()
  const orders = { '/before': [trial, strict], '/behind': [strict, trial] }
  for (const [path, keyrails] of Object.entries(orders)) {
    for (const keyrail of keyrails) app.use(path, requireKey(keyrail))
    app.get(path, requireScope('admin'), c => c.text(c.get('apiKey').keyId))
  }
  const admin = strict.issue({ scopes: ['admin'] })
  const other = strict.issue({ scopes: ['read'] })
  const ask = async (path: string, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const response = await app.request(path, { headers })
    return response.status === 200 ? await response.text() : response.status
  }
  for (const path of Object.keys(orders))
    assert.deepEqual(
      [await ask(path), await ask(path, other.key), await ask(path, admin.key)],
      [401, 403, admin.keyId],
      path,
    )
})

/** Asks an application with these guards. */
async function serve(...guards: RequestHandler[]) {
  const app = express()
  app.use(...guards)
  app.get('/', ({ apiKey, keyrail }, response) => void response.json([apiKey ?? null, keyrail?.code]))
  app.get('/admin', requireExpressScope('admin'), (_, response) => void response.send('in'))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const { port } = server.address() as AddressInfo
  return async (path: string, headers: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return path === '/' ? await response.json() : response.status
  }
}

test('a key that only a guard in shadow has found opens nothing behind one that refuses', async () => {
  const trial = shadowed()
  const ask = await serve(
    requireExpressKey(trial, { header: 'x-api-key' }),
    requireExpressKey(createTestKeyrail(), { optional: true }),
  )
  const headers = { 'x-api-key': trial.issue({ scopes: ['admin'] }).key }
  assert.deepEqual(await ask('/', headers), [null, 'valid'])
  assert.equal(await ask('/admin', headers), 401)
})

test('an optional guard that finds no key leaves the one that another guard has found', async () => {
  const strict = createTestKeyrail()
  const partners = createTestKeyrail()
  const ask = await serve(
    requireExpressKey(strict),
    requireExpressKey(partners, { header: 'x-partner-key', optional: true }),
    requireExpressKey(shadowed(), { header: 'x-api-key' }),
  )
  const { key, keyId } = strict.issue({ scopes: ['admin'] })
  const headers = { authorization: `Bearer ${key}` }
  const [found] = (await ask('/', headers)) as [{ keyId: string }]
  assert.equal(found.keyId, keyId)
  assert.equal(await ask('/admin', headers), 200)
  const both = { ...headers, 'x-partner-key': partners.issue().key }
  assert.equal(await ask('/admin', both), 403)
})

test('a guard in shadow leaves the apiKey that an old check has set', async () => {
  const trial = shadowed()
  const old: RequestHandler = (request, _, next) => {
    Object.assign(request, { apiKey: 'of the old check' })
    next()
  }
  const ask = await serve(old, requireExpressKey(trial))
  for (const [key, code] of [
    [trial.issue().key, 'valid'],
    ['old', 'malformed_key'],
  ] as const) {
    const headers = { authorization: `Bearer ${key}` }
    assert.deepEqual(await ask('/', headers), ['of the old check', code])
    assert.equal(await ask('/admin', headers), 200)
  }
})

test('what getKey or getIp throws refuses nothing in shadow, and its text is in no warning', async () => {
  const warned: string[] = []
  const listen = ({ message }: Error) => warned.push(message)
  process.on('warning', listen)
  after(() => process.off('warning', listen))
  const keyrail = shadowed()
  const { key } = keyrail.issue()
  const throws = () => {
    throw new Error(`no such session: ${key}`)
  }
  for (const options of [{ getKey: throws }, { getKey: async () => throws() }, { getIp: throws }]) {
    const app = new Hono<KeyrailEnv>()
    app.use(requireKey(keyrail, options))
    app.get('/', c => c.text(String(c.get('apiKey'))))
    const response = await app.request('/', { headers: { authorization: `Bearer ${key}` } })
    assert.deepEqual([response.status, await response.text()], [200, 'undefined'])
  }
  await new Promise(setImmediate)
  const warning = 'getKey or getIp threw: the request passed in shadow without a verdict'
  assert.deepEqual(warned, [warning, warning, warning])
})
