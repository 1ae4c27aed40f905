import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hono } from 'hono'
import * as ofExpress from '../src/express.ts'
import * as ofHono from '../src/hono.ts'
import {
  createTestIdempotency,
  createTestKeyring,
  createTestLimiter,
  createTestUsage,
} from '../src/testing.ts'
import * as ofWeb from '../src/web.ts'
import { adapters } from './demands-apis.ts'

/** What `createKeyrail` returns may be given in place of each of its parts. */

function openWhole() {
  const keys = createTestKeyring()
  const made: string[] = []
  const idempotency = createTestIdempotency()
  const limiter = createTestLimiter()
  const usage = createTestUsage()
  const parts = { keys, idempotency, limiter, usage }
  const whole = Object.create(
    Object.defineProperties(
      {},
      Object.fromEntries(
        Object.entries(parts).map(([name, part]) => [
          name,
          {
            get: () => {
              made.push(name)
              return part
            },
          },
        ]),
      ),
    ),
  ) as typeof parts
  return { ...parts, whole, made }
}

const minute = { id: 'minute', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }

for (const [name, make] of Object.entries(adapters)) {
  test(`${name}: a whole Keyrail protects, limits, counts, and executes once`, async () => {
    const { whole, keys, usage, made } = openWhole()
    const { key, keyId } = keys.issue({ rateLimits: [minute] })
    const ask = await make({
      keyring: whole as never,
      gate: { limiter: whole, usage: whole },
      idempotency: whole as never,
    })
    const sent = { authorization: `Bearer ${key}`, 'idempotency-key': 'a' }
    assert.deepEqual([await ask({}), await ask(sent), await ask(sent)], [401, 200, 429])
    assert.deepEqual(await usage.reported(), { [keyId]: 1 })
    assert.deepEqual([...new Set(made)].toSorted(), ['idempotency', 'keys', 'limiter', 'usage'])
  })
}

test('a guard of the Fetch API makes and awaits the keyring of a whole with its first request', async () => {
  const { whole, keys, made } = openWhole()
  const { key } = keys.issue()
  let loaded = () => {}
  const ready = new Promise<void>(resolve => {
    loaded = resolve
  })
  const handle = ofWeb.withKey(Object.assign(whole, { ready: () => ready }), () => new Response('passed'))
  assert.deepEqual(made, [])
  const answer = handle(new Request('http://localhost/', { headers: { authorization: `Bearer ${key}` } }))
  loaded()
  assert.equal((await answer).status, 200)
  assert.deepEqual(new Set(made), new Set(['keys', 'limiter', 'usage']))
})

test('Hono: limit charges after requireKey, and a request that it refuses is not counted', async () => {
  const { keys, limiter, usage } = openWhole()
  const { key, keyId } = keys.issue({ rateLimits: [{ ...minute, limit: 3 }] })
  const app = new Hono<ofHono.KeyrailEnv>()
  app.use(ofHono.requireKey(keys, { usage }), ofHono.limit(limiter, { cost: 2 }))
  app.get('/', context => context.text('passed'))
  const headers = { authorization: `Bearer ${key}` }
  const first = await app.request('/', { headers })
  assert.deepEqual([first.status, first.headers.get('ratelimit')], [200, '"minute";r=1;t=60'])
  const second = await app.request('/', { headers })
  assert.equal(second.status, 429)
  assert.deepEqual(await usage.reported(), { [keyId]: 1 })
  const alone = new Hono<ofHono.KeyrailEnv>()
  alone.use(ofHono.limit(limiter))
  assert.equal((await alone.request('/')).status, 500)
  assert.throws(() => ofHono.limit(keys as never), /limit takes a limiter/)
  assert.throws(() => ofHono.limit(limiter, { costs: 1 } as object), /limit has no option "costs"/)
  assert.throws(() => ofExpress.limit(keys as never), /limit takes a limiter/)
})
