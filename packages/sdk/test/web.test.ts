import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKeyring, createTestUsage } from '../src/testing.ts'
import { embedHandler, withKey } from '../src/web.ts'
import { testEmbed } from './embed-suite.ts'
import { apiOf, embedOf, gateOf } from './fetch-apis.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Fetch', apiOf(withKey))

testGate('Fetch', gateOf(withKey), { knowsPeer: false })

testEmbed('Fetch', embedOf(embedHandler))

const keyring = createTestKeyring()
const { key, keyId } = keyring.issue()
const request = () => new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } })

test('Fetch: the host’s other arguments reach the handler unchanged, after the key', async () => {
  class Server {
    address = () => '10.0.0.7'
  }
  const handle = withKey<Request, [Server, { waitUntil(work: Promise<unknown>): void }]>(
    keyring,
    (_, { apiKey }, server, context) => {
      context.waitUntil(Promise.resolve())
      return Response.json([apiKey.keyId, server.address()])
    },
  )
  const waited: Promise<unknown>[] = []
  const context = { waitUntil: (work: Promise<unknown>) => void waited.push(work) }
  const response = await handle(request(), new Server(), context)
  assert.deepEqual([await response.json(), waited.length], [[keyId, '10.0.0.7'], 1])
  const opened = withKey<Request, [Server]>(
    () => ({ keyring }),
    (_, _keyed, server) => new Response(server.address()),
  )
  assert.equal(await (await opened(request(), new Server())).text(), '10.0.0.7')
})

test('Fetch: a handler may ignore the host’s arguments, and its types show an optional key', async () => {
  const fetch: (request: Request, env: object, context: object) => Promise<Response> = withKey(
    keyring,
    (_, { apiKey }) => Response.json(apiKey?.keyId ?? 'nobody'),
    { optional: true },
  )
  assert.equal(await (await fetch(new Request('http://localhost/'), {}, {})).json(), 'nobody')
  assert.equal(await (await fetch(request(), {}, {})).json(), keyId)
})

test('Fetch: counts are sent while the host waits, one report for the requests of a second', async context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const usage = createTestUsage()
  const waited: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>) => void waited.push(work)
  const handle = withKey(keyring, () => new Response('passed'), { usage, waitUntil })
  for (const second of [1, 2]) {
    for (let n = 0; n < 3; n++) assert.equal((await handle(request())).status, 200)
    assert.equal((await handle(new Request('http://localhost/'))).status, 401)
    assert.equal(usage.stats().pending, 3)
    context.mock.timers.tick(1_000)
    await Promise.all(waited)
    assert.deepEqual([new Set(waited).size, usage.stats().reported], [second, 3 * second])
  }
  // A host may refuse the work, which costs no request.
  const late = withKey(keyring, () => new Response('passed'), { usage, waitUntil: () => assert.fail('mine') })
  assert.equal((await late(request())).status, 200)
  assert.throws(
    () => withKey(keyring, () => new Response(), { waitUntil: 1 as never }),
    /waitUntil must be a function/,
  )
})

test('Fetch: a wrong option is an error at startup, never an open handler', () => {
  assert.throws(() => withKey(undefined as never, () => new Response()), TypeError)
  assert.throws(() => withKey(keyring, undefined as never), /withKey takes a request handler/)
  const options = { idempotencyRequired: 'no' as never }
  assert.throws(
    () => withKey(keyring, () => new Response(), options),
    /idempotencyRequired must be true or false/,
  )
  const misspelt = { scope: ['admin'] } as object
  for (const given of [keyring, () => ({ keyring })])
    assert.throws(() => withKey(given, () => new Response(), misspelt), /withKey has no option "scope"/)
})
