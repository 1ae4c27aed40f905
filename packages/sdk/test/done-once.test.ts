import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { createTestIdempotency, createTestKeyring } from '../src/testing.ts'
import { adapters, type Given } from './once-apis.ts'
import { until } from './until.ts'

/** What a repetition gets, on every adapter: which answers are kept, which headers come back, and what streams. */

const keyring = createTestKeyring()
const { key } = keyring.issue()
const text = { 'content-type': 'text/plain' }

interface Received {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

for (const [name, make] of Object.entries(adapters)) {
  const world = { calls: 0, given: (_path: string): Given => assert.fail('nothing is given') }
  let exchanges = 0
  const url = await make({
    keyring,
    idempotency: createTestIdempotency({ maxBodyBytes: 1_000 }),
    answer(path) {
      world.calls++
      return world.given(path)
    },
    before: origin => ({
      'Access-Control-Allow-Origin': origin,
      'X-Before': `${++exchanges}`,
      Vary: 'Origin',
    }),
  })

  async function begin(idempotencyKey: string, headers = {}): Promise<IncomingMessage> {
    const sent = request(`${url}/route`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'idempotency-key': idempotencyKey,
        origin: 'https://a',
        ...headers,
      },
    })
    sent.end()
    const [response] = await once(sent, 'response')
    return response
  }

  async function ask(idempotencyKey: string, headers = {}): Promise<Received> {
    const response = await begin(idempotencyKey, headers)
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    return {
      status: response.statusCode as number,
      headers: response.headers,
      text: Buffer.concat(chunks).toString('utf8'),
    }
  }

  const give = (given: Partial<Given>) => {
    world.given = () => ({ status: 200, headers: text, chunks: [Buffer.from('done')], ...given })
  }

  test(`${name}: what streams passes as it comes, and is not replayed`, async () => {
    const kinds: [string, Partial<Given>][] = [
      ['events', { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }],
      ['lines', { headers: { 'content-type': 'application/x-ndjson' } }],
      ['what takes longer than 500 ms', {}],
    ]
    const hasFlush = !/Hono|Fetch|Next/.test(name)
    if (hasFlush) kinds.push(['what is flushed', { isFlushed: true, chunks: [] }])
    for (const [kind, given] of kinds) {
      const gate = Promise.withResolvers<void>()
      give({ ...given, gate: gate.promise })
      const [before, idempotencyKey] = [world.calls, randomUUID()]
      const received = { text: '', hasBegun: false }
      const asked = begin(idempotencyKey).then(async response => {
        received.hasBegun = true
        for await (const chunk of response.setEncoding('utf8')) received.text += chunk
      })
      const begun = given.chunks === undefined ? 'done' : ''
      await until(() => received.hasBegun && received.text === begun, `${kind} has begun`).finally(
        gate.resolve,
      )
      await asked
      const again = await ask(idempotencyKey)
      assert.deepEqual([again.status, JSON.parse(again.text).code], [409, 'idempotency_not_replayable'], kind)
      assert.equal(world.calls, before + 1, kind)
    }
  })

  test(`${name}: only an outcome is kept; what asks for another attempt is executed again`, async () => {
    const later = { ...text, 'retry-after': '30' }
    for (const [status, headers, isKept] of [
      [200, text, true],
      [303, { ...text, location: '/elsewhere' }, true],
      [404, text, true],
      [409, text, true],
      [408, text, false],
      [425, text, false],
      [429, text, false],
      [500, text, false],
      [503, later, false],
      [409, later, false],
      [202, later, false],
    ] as const) {
      give({ status, headers })
      const [before, idempotencyKey] = [world.calls, randomUUID()]
      const first = await ask(idempotencyKey)
      const again = await ask(idempotencyKey)
      assert.deepEqual([again.status, again.text], [first.status, first.text])
      assert.equal(again.headers['idempotent-replayed'], isKept ? 'true' : undefined, `${status}`)
      assert.equal(world.calls, before + (isKept ? 1 : 2), `${status}`)
    }
  })

  test(`${name}: a replay has the headers of the route, and of the present exchange`, async () => {
    const ofRoute = {
      ...text,
      location: '/orders/1',
      vary: 'Accept-Language, Origin',
      'x-behind': 'yes',
      etag: '"1"',
    }
    const ofExchange = {
      'set-cookie': 'a=b',
      'server-timing': 'db;dur=5',
      'x-request-id': 'first',
      'x-correlation-id': 'first',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'ratelimit-remaining': '5',
      'x-ratelimit-remaining': '5',
      'access-control-expose-headers': 'x-behind',
    }
    give({ headers: { ...ofRoute, ...ofExchange } })
    const idempotencyKey = randomUUID()
    const first = await ask(idempotencyKey, { origin: 'https://a' })
    assert.equal(first.headers['x-request-id'], 'first')
    const again = await ask(idempotencyKey, { origin: 'https://b' })
    assert.equal(again.text, 'done')
    for (const [header, value] of Object.entries(ofRoute)) {
      if (header !== 'vary') assert.equal(again.headers[header], value, header)
    }
    for (const header of Object.keys(ofExchange)) assert.equal(again.headers[header], undefined, header)
    assert.equal(again.headers['access-control-allow-origin'], 'https://b')
    assert.equal(Number(again.headers['x-before']), Number(first.headers['x-before']) + 1)
    // Hono itself replaces the route's.
    const varyOf = ({ headers }: Received) => new Set(headers.vary?.split(', '))
    assert.deepEqual(varyOf(again), varyOf(first))
  })

  test(`${name}: a replay is not encoded, because its client may not accept that`, async () => {
    for (const [encoding, encode] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
    ] as const) {
      give({ headers: { ...text, 'content-encoding': encoding }, chunks: [encode('done')] })
      const idempotencyKey = randomUUID()
      assert.equal((await ask(idempotencyKey)).headers['content-encoding'], encoding)
      const { headers, text: replayed } = await ask(idempotencyKey)
      assert.deepEqual([headers['content-encoding'], replayed], [undefined, 'done'], encoding)
    }
    for (const chunks of [[gzipSync('x'.repeat(2_000))], [Buffer.from('no gzip')]]) {
      give({ headers: { ...text, 'content-encoding': 'gzip' }, chunks })
      const idempotencyKey = randomUUID()
      await ask(idempotencyKey)
      assert.equal((await ask(idempotencyKey)).status, 409)
    }
  })

  test(`${name}: a replay without a body gains no type, and a head beyond ASCII stays as it is`, async () => {
    for (const status of [200, 201, 204]) {
      give({ status, headers: { 'x-behind': 'yes' }, chunks: [] })
      const idempotencyKey = randomUUID()
      await ask(idempotencyKey)
      const { headers } = await ask(idempotencyKey)
      assert.deepEqual(
        [headers['idempotent-replayed'], headers['content-type']],
        ['true', undefined],
        `${status}`,
      )
    }
    const named = 'attachment; filename="é.pdf"'
    give({ headers: { ...text, 'content-disposition': named } })
    const idempotencyKey = randomUUID()
    for (const replayed of [undefined, 'true']) {
      const { headers, text: body } = await ask(idempotencyKey)
      assert.deepEqual(
        [headers['content-disposition'], headers['idempotent-replayed'], body],
        [named, replayed, 'done'],
      )
    }
  })
}
