import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hono } from 'hono'
import * as ofHono from '../src/hono.ts'
import { withKey as withNextKey } from '../src/next.ts'
import { createTestIdempotency, createTestKeyring } from '../src/testing.ts'
import { withKey } from '../src/web.ts'

/** Where the SDK itself reads the body of a request that is done once, it reads no more than its limit. */

const keyring = createTestKeyring()
const { key } = keyring.issue()
const idempotency = createTestIdempotency({ maxRequestBytes: 100_000 })
const world = { calls: 0 }
const answer = async (request: Request) => {
  world.calls++
  return new Response(`${(await request.arrayBuffer()).byteLength}`)
}

const onHono = (...before: ((context: ofHonoContext, next: () => Promise<void>) => Promise<void>)[]) => {
  const app = new Hono<ofHono.KeyrailEnv>()
  for (const middleware of before) app.use(middleware)
  app.use(ofHono.requireKey(keyring), ofHono.idempotent(idempotency))
  app.post('/', async context => {
    world.calls++
    return context.text(`${(await context.req.arrayBuffer()).byteLength}`)
  })
  return async (request: Request) => app.fetch(request)
}
type ofHonoContext = { req: { arrayBuffer(): Promise<ArrayBuffer> } }

const handlers: Record<string, (request: Request) => Promise<Response>> = {
  Fetch: withKey(keyring, answer, { idempotency }),
  Next: withNextKey(keyring, answer, { idempotency }),
  Hono: onHono(),
  'Hono, with a body that was read': onHono(async ({ req }, next) => {
    await req.arrayBuffer()
    await next()
  }),
}

for (const [name, handle] of Object.entries(handlers)) {
  const post = (body: BodyOf, headers = {}) =>
    handle(
      new Request('http://localhost/', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': crypto.randomUUID(), ...headers },
        body,
        duplex: 'half',
      } as RequestInit),
    )
  const refused = async (asked: Promise<Response>) => {
    const before = world.calls
    const response = await asked
    const { code } = (await response.json()) as { code: string }
    assert.deepEqual([response.status, code, world.calls], [413, 'idempotency_body_too_large', before])
  }

  test(`${name}: a body beyond the limit is refused, and one at the limit passes`, async () => {
    assert.equal(await (await post('x'.repeat(100_000))).text(), '100000')
    await refused(post('x'.repeat(100_001)))
  })

  test(`${name}: a body without a length is read as far as the limit`, async () => {
    let pulled = 0
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 10_000
          controller.enqueue(new Uint8Array(10_000))
          if (pulled === 2_000_000) controller.close()
        },
      })
    await refused(post(endless()))
    if (!name.includes('read')) assert.ok(pulled < 200_000, `${pulled}`)
    if (!name.includes('read')) await refused(post('x', { 'content-length': '100001' }))
  })
}

type BodyOf = string | ReadableStream<Uint8Array>
