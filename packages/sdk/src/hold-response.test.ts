import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../test/until.ts'
import { holdResponse } from './hold-response.ts'

interface Told {
  status: number
  headers: Record<string, unknown>
  body: string | null
}

/** One answer of a real server; it is let go when the test says so. */
async function answer(handle: (response: ServerResponse) => void, maxBytes = 100) {
  const told: Told[] = []
  const { promise: stored, resolve: store } = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    holdResponse(response, maxBytes, async (status, headers, body) => {
      told.push({
        status,
        headers: Object.fromEntries(headers),
        body: body === null ? null : Buffer.from(body).toString(),
      })
      await stored
    })
    handle(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => void server.close())
  const { port } = server.address() as AddressInfo
  const heard = { text: '', begun: false, ended: false, response: undefined as IncomingMessage | undefined }
  get({ port, host: '127.0.0.1', agent: false }, response => {
    heard.begun = true
    heard.response = response
    response.setEncoding('utf8').on('data', chunk => {
      heard.text += chunk
    })
    response.on('end', () => {
      heard.ended = true
    })
  })
  await until(() => told.length === 1, 'it is told')
  return { told, heard, store }
}

test('nothing is sent before it is stored, and then all of it as it was written', async () => {
  let written = 0
  const { told, heard, store } = await answer(response => {
    response.writeHead(201, 'Made', { 'x-a': '1', 'x-b': ['2', '3'] })
    assert.equal(response.headersSent, false)
    response.write('héllo ', () => written++)
    response.write('6869', 'hex')
    response.write(new Uint8Array([33]))
    response.end(' end', () => written++)
    response.end('again')
  })
  assert.deepEqual(told, [{ status: 201, headers: { 'x-a': '1', 'x-b': ['2', '3'] }, body: 'héllo hi! end' }])
  assert.equal(heard.begun, false)
  store()
  await until(() => heard.ended && written === 2, 'it is heard')
  assert.deepEqual(
    [heard.text, heard.response?.statusCode, heard.response?.statusMessage, heard.response?.headers['x-b']],
    ['héllo hi! end', 201, 'Made', '2, 3'],
  )
})

test('headers are taken in every form that writeHead takes', async () => {
  for (const headers of [{ a: 'b' }, ['a', 'b'], [['a', 'b']]]) {
    const { told, store } = await answer(response => response.writeHead(200, headers as string[]).end())
    assert.deepEqual([told[0]?.headers, told[0]?.body], [{ a: 'b' }, ''])
    store()
  }
})

test('what grows too large is told without its body before a byte of it is sent, and passes as it comes', async () => {
  let response: ServerResponse | undefined
  const { told, heard, store } = await answer(given => {
    response = given
    given.setHeader('content-length', '160')
    for (let piece = 0; piece < 11; piece++) given.write('x'.repeat(10))
  })
  assert.deepEqual([told[0]?.body, heard.begun], [null, false])
  store()
  await until(() => heard.text.length === 110, 'it passes')
  response?.write('y'.repeat(25))
  await until(() => heard.text.length === 135, 'it passes at once')
  response?.end('z'.repeat(25))
  await until(() => heard.ended, 'it ends')
  assert.deepEqual([heard.text.length, told.length], [160, 1])
})

test('one piece that is too large, and headers that are sent on, are told without a body', async () => {
  const large = await answer(response => response.end('x'.repeat(101)))
  assert.equal(large.told[0]?.body, null)
  large.store()
  await until(() => large.heard.ended, 'it is heard')
  assert.equal(large.heard.text.length, 101)

  let response: ServerResponse | undefined
  const flushed = await answer(given => {
    response = given
    given.setHeader('content-type', 'text/event-stream')
    given.flushHeaders()
  })
  assert.equal(flushed.told[0]?.body, null)
  flushed.store()
  await until(() => flushed.heard.begun, 'the headers are heard')
  response?.end('done')
  await until(() => flushed.heard.ended, 'it is heard')
  assert.equal(flushed.heard.text, 'done')
})
