import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import express, { type Express, type RequestHandler } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify from 'fastify'
import { idempotent, keepRawBody, requireKey } from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import { createIdempotency } from '../src/idempotency/idempotent.ts'
import { listen } from './fetch-server.ts'
import { startKeyrail } from './service.ts'

const { issue, openKeyring, patient } = await startKeyrail()
const { key } = await issue()
const keyring = await openKeyring()
const idempotency = createIdempotency(patient)
const world = { calls: 0 }

/** An API whose routes parse bodies in different ways. */
async function startApi(make: typeof express, ...parsers: RequestHandler[]) {
  const app: Express = make()
  app.use(requireKey(keyring), ...parsers, idempotent(idempotency))
  app.post('/pay', (_, response) => void response.json({ call: ++world.calls }))
  const url = await listen(createServer(app))
  return async (body: string | Uint8Array<ArrayBuffer>, idempotencyKey: string, type: string | undefined) => {
    const answer = await fetch(`${url}/pay`, {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${key}`,
        'idempotency-key': idempotencyKey,
        ...(type !== undefined && { 'content-type': type }),
      },
    })
    const { code } = (await answer.json()) as { code?: string }
    return [answer.status, code, answer.headers.get('idempotent-replayed')]
  }
}

const unread = [415, 'idempotency_body_unread', null]

for (const [name, make] of [
  ['Express 4', express4 as typeof express],
  ['Express 5', express],
] as const) {
  test(`${name}: a body that no parser has read is refused`, async () => {
    for (const parser of [make.json(), make.json({ verify: keepRawBody })]) {
      const pay = await startApi(make, parser)
      const before = world.calls
      for (const type of ['text/plain', 'application/xml', 'application/octet-stream', undefined]) {
        const idempotencyKey = randomUUID()
        const bytes = (body: string) => (type === undefined ? Buffer.from(body) : body)
        assert.deepEqual(await pay(bytes('pay 1'), idempotencyKey, type), unread, type)
        assert.deepEqual(await pay(bytes('pay 1000000'), idempotencyKey, type), unread, type)
      }
      assert.equal(world.calls, before)
    }
  })

  test(`${name}: a multipart form without its bytes is refused, in any spelling of the type`, async () => {
    const pay = await startApi(make, make.urlencoded({ extended: true, type: () => true }))
    for (const type of ['multipart/form-data; boundary=a', 'Multipart/Form-Data; boundary=a']) {
      assert.deepEqual(await pay('--a\r\n\r\npay 1\r\n--a--', randomUUID(), type), unread)
    }
  })

  test(`${name}: middleware that reads the body itself must keep its bytes`, async () => {
    const readElsewhere: RequestHandler = (request, _, next) => {
      text(request).then(read => next(void Object.assign(request, { read })), next)
    }
    const pay = await startApi(make, make.json(), readElsewhere)
    assert.deepEqual(await pay('pay 1', randomUUID(), 'text/plain'), unread)
  })

  test(`${name}: a parsed body counts, also if it is empty`, async () => {
    const pay = await startApi(
      make,
      make.json(),
      make.urlencoded({ extended: true }),
      make.text(),
      make.raw(),
    )
    for (const [type, one, other] of [
      ['application/json', '{}', '{"a":1}'],
      ['application/json', '[]', '{}'],
      ['application/octet-stream', 'pay 1', 'pay 2'],
      ['application/x-www-form-urlencoded', '&', 'pay=2'],
      ['text/plain', '{}', 'pay 2'],
    ] as const) {
      const idempotencyKey = randomUUID()
      assert.deepEqual(await pay(one, idempotencyKey, type), [200, undefined, null], type)
      assert.deepEqual(await pay(one, idempotencyKey, type), [200, undefined, 'true'], type)
      assert.deepEqual(await pay(other, idempotencyKey, type), [422, 'idempotency_key_reused', null], type)
    }
    assert.deepEqual(await pay('', randomUUID(), 'text/plain'), [200, undefined, null])
  })
}

test('over HTTP/2, without a length, two bodies are two requests', async () => {
  const app = fastify({ http2: true })
  after(() => app.close())
  await app.register(keyrailPlugin, { keyring, idempotency })
  app.post('/pay', async () => ({ call: ++world.calls }))
  const session = connect(await app.listen({ port: 0, host: '127.0.0.1' }))
  after(() => session.destroy())
  const idempotencyKey = randomUUID()
  const pay = async (body: string) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/pay',
      authorization: `Bearer ${key}`,
      'idempotency-key': idempotencyKey,
      'content-type': 'application/json',
    })
    const status = new Promise<unknown>(resolve => stream.on('response', head => resolve(head[':status'])))
    stream.end(body)
    const { call, code } = JSON.parse(await text(stream))
    return [await status, call ?? code]
  }
  const first = await pay('{"amount":1}')
  assert.deepEqual(first, [200, world.calls])
  assert.deepEqual(await pay('{"amount":1}'), first)
  assert.deepEqual(await pay('{"amount":1000000}'), [422, 'idempotency_key_reused'])
})
