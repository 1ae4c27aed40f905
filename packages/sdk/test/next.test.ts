import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embedHandler, withKey } from '../src/next.ts'
import { createTestKeyring } from '../src/testing.ts'
import * as ofWeb from '../src/web.ts'
import { testEmbed } from './embed-suite.ts'
import { apiOf, embedOf, gateOf } from './fetch-apis.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

/** Route handlers as Next calls them: with a request and the params of the path. */
await testProtectedApi('Next', apiOf(withKey))

testGate('Next', gateOf(withKey), { knowsPeer: false })

testEmbed('Next', embedOf(embedHandler))

test('Next: the types of a handler show an optional key', async () => {
  const keyring = createTestKeyring()
  const route = withKey(keyring, (_, { apiKey }) => Response.json(apiKey?.keyId ?? 'nobody'), {
    optional: true,
  })
  assert.equal(await (await route(new Request('http://localhost/'))).json(), 'nobody')
})

test('Next: the route’s params reach the handler after the key, if there are any', async () => {
  const keyring = createTestKeyring()
  const { key, keyId } = keyring.issue()
  const route = withKey(keyring, async (_, { apiKey }, { params }: { params: Promise<{ id: string }> }) =>
    Response.json([(await params).id, apiKey.keyId]),
  )
  // @ts-expect-error The route has a parameter of that name.
  const wrong: (request: Request, context: { params: Promise<{ other: string }> }) => unknown = route
  void wrong
  assert.equal(withKey, ofWeb.withKey)
  const request = new Request('http://localhost/orders/7', { headers: { authorization: `Bearer ${key}` } })
  const response = await route(request, { params: Promise.resolve({ id: '7' }) })
  assert.deepEqual(await response.json(), ['7', keyId])
})

test('Next: a function that makes a keyring runs with the first request, once for all routes', async () => {
  const keyring = createTestKeyring()
  const { key } = keyring.issue({ scopes: ['a'] })
  const counted: string[] = []
  let opened = 0
  const open = async () => {
    opened++
    return { keyring, usage: { count: ({ keyId }: { keyId: string }) => void counted.push(keyId) } }
  }
  const routes = [
    withKey(open, () => new Response('a'), { scopes: ['a'] }),
    withKey(open, () => new Response('b')),
  ]
  assert.equal(opened, 0)
  const request = () => new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } })
  const answers = await Promise.all(
    [...routes, ...routes].map(async route => (await route(request())).text()),
  )
  assert.deepEqual([answers, opened, counted.length], [['a', 'b', 'a', 'b'], 1, 4])
  const without = await routes[0]?.(new Request('http://localhost/'))
  assert.equal(without?.status, 401)
})

test('Next: the function may return the keyring alone, or a whole Keyrail', async () => {
  const keyring = createTestKeyring()
  const { key } = keyring.issue()
  const request = new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } })
  for (const open of [() => keyring, async () => ({ keys: keyring, ready: async () => {} })])
    assert.equal((await withKey(open, () => new Response('passed'))(request)).status, 200)
})

test('Next: if the function fails, no route is open', async () => {
  const request = () => new Request('http://localhost/')
  const rejected = { ready: () => Promise.reject(new Error('wrong secret')), verify: () => assert.fail() }
  for (const open of [
    () => Promise.reject(new Error('wrong secret')),
    () => assert.fail('wrong secret'),
    () => ({ keyring: rejected }),
  ]) {
    const route = withKey(open, () => new Response('open'))
    for (let round = 0; round < 2; round++) await assert.rejects(route(request()), /wrong secret/)
  }
  const limitless = () => ({ keyring: createTestKeyring(), limitter: {} })
  for (const open of [() => ({}), () => undefined, limitless]) {
    await assert.rejects(withKey(open as never, () => new Response('open'))(request()), TypeError)
  }
})

test('Next: a wrong option is an error at startup, never an open route', () => {
  const keyring = createTestKeyring()
  assert.throws(() => withKey(undefined as never, () => new Response()), TypeError)
  assert.throws(() => withKey(keyring, undefined as never), TypeError)
  assert.throws(() => withKey(keyring, () => new Response(), { scopes: 'a' as never }), TypeError)
  for (const given of [keyring, () => ({ keyring })]) {
    const misspelt = { scope: ['admin'] } as object
    assert.throws(() => withKey(given, () => new Response(), misspelt), /withKey has no option "scope"/)
  }
  assert.throws(() => withKey(keyring, () => new Response(), { idempotencyRequired: true }), TypeError)
  assert.throws(() => withKey(keyring, () => new Response(), { cost: Number.NaN }), /cost must be an integer/)
})
