import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { Post, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import express, { type Express } from 'express'
// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import fastify from 'fastify'
import { idempotent, requireKey } from '../src/express.ts'
import { keyrailPlugin } from '../src/fastify.ts'
import { LEFT_MS } from '../src/idempotency/held-claim.ts'
import { openIdempotency } from '../src/idempotency/idempotent.ts'
import { listen } from './fetch-server.ts'
import { ManualTimer } from './manual-timer.ts'
import { decorate, startNest } from './nest-api.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

const { settings, issue, openKeyring } = await startKeyrail()
const { key } = await issue()
const keyring = await openKeyring()
const timer = new ManualTimer()
const idempotency = openIdempotency(settings, { timer, random: () => 0.5 })

/** An attack: a whole answer inside of another one. */
const forged = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged'
const lines = ['x'.repeat(148), forged]

interface Sent {
  path: string
  idempotencyKey?: string
}

/** Sends requests on one connection, which stays open, and collects the bytes of the answers. */
function send(url: string, ...requests: Sent[]) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  after(() => socket.destroy())
  const received = { text: '', isClosed: false, leave: () => void socket.destroy() }
  socket.setEncoding('latin1').on('data', text => {
    received.text += text
  })
  socket
    .on('error', () => {})
    .on('close', () => {
      received.isClosed = true
    })
  for (const { path, idempotencyKey } of requests) {
    const keyed = idempotencyKey === undefined ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${keyed}Content-Length: 0\r\n\r\n`,
    )
  }
  return received
}

async function ask(url: string, path: string, idempotencyKey: string) {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey }
  const answer = await fetch(url + path, { method: 'POST', headers })
  return [answer.status, await answer.text(), answer.headers.get('idempotent-replayed')]
}

/** A second answer to a request does not change the first, and fails as it does without holding. */
async function testSecondAnswer(url: string, thrown: unknown[]) {
  const whole = (received: { text: string }) => received.text.endsWith('{"first":1}')
  const plain = send(url, { path: '/twice' })
  await until(() => whole(plain), 'it is answered without holding')
  const idempotencyKey = randomUUID()
  const held = send(url, { path: '/twice', idempotencyKey })
  await until(() => whole(held), 'it is answered')
  const fixed = (text: string) => text.replace(/date: .*?\r\n/i, '')
  assert.equal(fixed(held.text), fixed(plain.text))
  assert.match(held.text, /^HTTP\/1.1 200 OK\r\n/)
  assert.deepEqual(await ask(url, '/twice', idempotencyKey), [200, '{"first":1}', 'true'])
  assert.deepEqual(thrown[1], thrown[0])
}

/** A broken answer is not sent, and the next request on the connection gets none of its bytes. */
async function testBrokenAnswer(url: string, calls: () => number, isAtOnce: boolean) {
  const before = calls()
  const idempotencyKey = randomUUID()
  const received = send(url, { path: '/breaks', idempotencyKey }, { path: '/honest' })
  await until(() => received.isClosed, 'the connection is closed')
  assert.equal(received.text, '')
  if (!isAtOnce) {
    await until(() => timer.delays.includes(LEFT_MS), 'the break is noticed')
    timer.pass(LEFT_MS)
  }
  await until(async () => {
    const again = send(url, { path: '/breaks', idempotencyKey })
    await until(() => again.isClosed || again.text !== '', 'it retries')
    again.leave()
    return calls() === before + 2
  }, 'a retry is executed')
}

for (const [name, make] of [
  ['Express 4', express4 as typeof express],
  ['Express 5', express],
] as const) {
  const app: Express = make()
  const world = { calls: 0, thrown: [] as unknown[], goOn: () => {}, closed: 0 }
  // Without printing errors.
  app.set('env', 'test')
  app.use(requireKey(keyring), idempotent(idempotency))
  app.post('/twice', (_, response) => {
    response.json({ first: 1 })
    try {
      response.status(500).json({ error: 'a longer text that comes after the first' })
    } catch (error) {
      world.thrown.push((error as { code?: string }).code)
    }
  })
  app.post('/breaks', (_, response) => {
    world.calls++
    for (const line of lines) response.write(line)
    throw new Error('a bad line')
  })
  app.post('/honest', (_, response) => void response.json({ honest: 1 }))
  app.post('/streams', (_, response) => {
    world.calls++
    response.once('close', () => world.closed++)
    new Readable({ read() {} }).pipe(response)
  })
  app.post('/gives-up', (_, response) => {
    world.calls++
    response.destroy()
  })
  app.post('/goes-on/:begins', async ({ params }, response) => {
    world.calls++
    response.once('close', () => world.closed++)
    if (params.begins === 'begun') response.write('a')
    await new Promise<void>(resolve => {
      world.goOn = resolve
    })
    response.end('b')
  })
  app.post('/odd-head', (_, response) => {
    world.calls++
    response.statusMessage = 'no\r\nhead'
    response.end()
  })
  const url = await listen(createServer(app))
  const left = async (path: string, idempotencyKey: string) => {
    const { calls, closed } = world
    const received = send(url, { path, idempotencyKey })
    await until(() => world.calls === calls + 1, 'it is executed')
    received.leave()
    await until(() => world.closed === closed + 1, 'the client has gone')
  }

  test(`${name}: a second answer does not change a held one`, async () => {
    await testSecondAnswer(url, world.thrown)
    assert.deepEqual(world.thrown, ['ERR_HTTP_HEADERS_SENT', 'ERR_HTTP_HEADERS_SENT'])
  })

  test(`${name}: a handler that throws during its answer ends the connection; a retry executes`, async () => {
    await testBrokenAnswer(url, () => world.calls, false)
  })

  test(`${name}: after an aborted stream or a destroyed response a retry executes at once`, async () => {
    const streamed = randomUUID()
    await left('/streams', streamed)
    await until(async () => {
      const { calls } = world
      const again = send(url, { path: '/streams', idempotencyKey: streamed })
      await until(() => world.calls > calls || again.text !== '', 'it retries')
      again.leave()
      return world.calls > calls
    }, 'the retry of the stream is executed')

    const [before, idempotencyKey] = [world.calls, randomUUID()]
    for (let round = 1; round <= 2; round++) {
      await until(async () => {
        const received = send(url, { path: '/gives-up', idempotencyKey })
        await until(() => received.isClosed || received.text !== '', 'the response is destroyed')
        received.leave()
        return world.calls === before + round
      }, 'it is executed')
    }
  })

  test(`${name}: a handler that continues without its client is not executed twice`, async () => {
    for (const [path, body] of [
      ['/goes-on/silent', 'b'],
      ['/goes-on/begun', 'ab'],
    ] as const) {
      const idempotencyKey = randomUUID()
      await left(path, idempotencyKey)
      const { calls } = world
      assert.equal((await ask(url, path, idempotencyKey))[0], 409)
      world.goOn()
      await until(async () => (await ask(url, path, idempotencyKey))[0] !== 409, 'its answer is kept')
      assert.deepEqual(await ask(url, path, idempotencyKey), [200, body, 'true'])
      assert.equal(world.calls, calls)
    }
  })

  test(`${name}: an answer begun and not ended is executed again after the lifetime of a lock`, async () => {
    const idempotencyKey = randomUUID()
    await left('/goes-on/begun', idempotencyKey)
    await until(() => timer.delays.includes(LEFT_MS), 'the server knows that the client has gone')
    assert.equal((await ask(url, '/goes-on/begun', idempotencyKey))[0], 409)
    timer.pass(LEFT_MS)
    const before = world.calls
    let last = send(url, { path: '/goes-on/begun', idempotencyKey })
    await until(async () => {
      if (world.calls > before) return true
      if (last.text === '') return false
      last.leave()
      last = send(url, { path: '/goes-on/begun', idempotencyKey })
      return false
    }, 'a retry is executed')
    world.goOn()
    await until(() => last.text !== '', 'it is answered')
    assert.match(last.text, /^HTTP\/1.1 200 OK/)
  })

  test(`${name}: a head that cannot be sent ends its connection, not the process`, async () => {
    const received = send(url, { path: '/odd-head', idempotencyKey: randomUUID() })
    await until(() => received.isClosed, 'the connection is closed')
    assert.equal(received.text, '')
  })
}

{
  const app = fastify({ forceCloseConnections: true })
  after(() => app.close())
  await app.register(keyrailPlugin, { keyring, idempotency })
  let calls = 0
  app.post('/twice', (_, reply) => {
    reply.send({ first: 1 })
    reply.code(500).send({ error: 'a longer text that comes after the first' })
  })
  app.post('/breaks', async (_, reply) => {
    calls++
    const stream = Readable.from(
      (async function* () {
        yield* lines
        throw new Error('a bad line')
      })(),
    )
    return reply.type('text/csv').send(stream)
  })
  app.post('/honest', async () => ({ honest: 1 }))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })

  test('Fastify: a second answer does not change a held one', () => testSecondAnswer(url, []))
  test('Fastify: a stream that fails midway ends the connection; a retry executes at once', () =>
    testBrokenAnswer(url, () => calls, true))
}

test('Nest: a handler that throws during its answer is answered as if it was not held', async () => {
  class Api {
    breaks(response: { write(text: string): void }) {
      for (const line of lines) response.write(line)
      throw new Error('a bad line')
    }
  }
  decorate(Api, { breaks: [[Post('/breaks')], Res()] })
  const url = await startNest(
    module => NestFactory.create(module, { logger: false, forceCloseConnections: true }),
    [Api],
    { keyring, idempotency },
  )
  const answers = []
  for (const idempotencyKey of [undefined, randomUUID()]) {
    const answer = await fetch(`${url}/breaks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
    })
    answers.push([answer.status, await answer.text()])
  }
  assert.deepEqual(answers[1], answers[0])
  assert.deepEqual(answers[1], [201, lines.join('')])
})
