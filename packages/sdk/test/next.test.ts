import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withKey } from '../src/next.ts'
import { createTestKeyring } from '../src/testing.ts'
import { serveFetch } from './fetch-server.ts'
import { testProtectedApi } from './protected-api.ts'

/** Route handlers as Next calls them: a request, and what the path says. */
await testProtectedApi('Next', async ({ keyring, limiter, idempotency, usage, work }) => {
  const options = { limiter, idempotency, usage }
  const routes: Record<
    string,
    (request: Request, context: { params: Promise<object> }) => Promise<Response>
  > = {
    '/orders': withKey(keyring, (_, { apiKey }) => Response.json({ tenantId: apiKey.tenantId }), options),
    '/write': withKey(keyring, () => new Response('wrote'), {
      ...options,
      scopes: ['orders:write'],
      cost: 2,
    }),
    '/payments': withKey(
      keyring,
      async request => {
        const done = await work(await request.json())
        return Response.json(done, { status: 201, headers: { location: `/payments/${done.calls}` } })
      },
      options,
    ),
    '/broken': withKey(
      keyring,
      async request => {
        await work(await request.json())
        throw new Error('broken')
      },
      options,
    ),
    '/large': withKey(
      keyring,
      async request => {
        await work(await request.json())
        return new Response('x'.repeat(2_000))
      },
      options,
    ),
  }
  return serveFetch(async request => {
    const route = routes[new URL(request.url).pathname]
    return route ? route(request, { params: Promise.resolve({}) }) : new Response(null, { status: 404 })
  })
})

test('Next: what Next tells of the route reaches the handler beside the key', async () => {
  const keyring = createTestKeyring()
  const { key, keyId } = keyring.issue()
  const route = withKey<Request, { params: Promise<{ id: string }> }>(
    keyring,
    async (_, { params, apiKey }) => Response.json([(await params).id, apiKey.keyId]),
  )
  const request = new Request('http://localhost/orders/7', { headers: { authorization: `Bearer ${key}` } })
  const response = await route(request, { params: Promise.resolve({ id: '7' }) })
  assert.deepEqual(await response.json(), ['7', keyId])
})

test('Next: a mistake in the set-up is an error at start, never an open route', () => {
  const keyring = createTestKeyring()
  assert.throws(() => withKey(undefined as never, () => new Response()), TypeError)
  assert.throws(() => withKey(keyring, undefined as never), TypeError)
  assert.throws(() => withKey(keyring, () => new Response(), { scopes: 'a' as never }), TypeError)
})
