import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { until } from '../../../../test/until.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { openWire, readAll, readAnswers } from '../../../../test/wire.ts'
import { bodyLimit } from './body.ts'
import { unreadLimits } from './unread.ts'

const mebibyte = 1_048_576
// No place is free again before the tests have ended.
Object.assign(unreadLimits, { lingerMs: 120_000, placesOfOne: 3 })
const harness = await startHarness()
const vendor = await makeVendor(harness)
const { port, send } = await openWire(harness)
const { server } = harness.app
const bearer = `authorization: Bearer ${vendor.live}`

/** The place of a network is kept, so each test has another one. */
let networks = 1
const otherNetwork = () => `127.0.0.${++networks}`

const json = 'content-type: application/json'
const announcing = (length: number) => `content-length: ${length}`
const headOf = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'host: here', json, ...headers].join('\r\n')}\r\n\r\n`

/** Heads that are refused, whatever follows. */
const refused = [
  [413, 'POST /v1/auth/sessions'],
  [401, 'POST /v1/tenants'],
  [404, 'POST /v1/nothing'],
  [405, 'POST /v1/audit_logs'],
] as const

/** A connection, the service's end of it, and the first response. */
async function begin(head: string, from = otherNetwork()) {
  const opened = once(server, 'connection')
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  const errors: Error[] = []
  socket.on('error', error => errors.push(error))
  const [end] = (await opened) as [Socket]
  const asked = once(server, 'request')
  // The client reads nothing until it has sent everything.
  socket.pause().write(head)
  const [request, response] = (await asked) as [IncomingMessage, ServerResponse]
  if (!response.closed) await once(response, 'close')
  return { socket, end, request, errors }
}
const sent = (socket: Socket, bytes: Buffer) => new Promise(resolve => socket.write(bytes, resolve))

test('a client that sends its whole body before it reads gets the refusal', async () => {
  for (const [status, line] of refused) {
    const { socket, end, errors } = await begin(headOf(line, announcing(mebibyte / 2)))
    // In two parts: the first would fill a closed connection, and the second would fail.
    await sent(socket, Buffer.alloc(mebibyte / 4))
    await until(() => end.destroyed || end.bytesRead > mebibyte / 4)
    await sent(socket, Buffer.alloc(mebibyte / 4))
    const [answer] = readAnswers(await readAll(socket.resume()))
    assert.deepEqual([answer?.status, answer?.headers.connection, errors], [status, 'close', []], line)
    await until(() => end.destroyed)
  }
})

test('of a body that is refused at its head, the service discards a mebibyte at most', async () => {
  for (const [, line] of refused) {
    const { socket, end } = await begin(headOf(line, announcing(64 * mebibyte)))
    socket.resume().write(Buffer.alloc(64 * mebibyte))
    await until(() => end.destroyed)
    // The last read exceeds the limit.
    assert.ok(end.bytesRead < unreadLimits.discardedMax + 3 * 65_536, `${line}: ${end.bytesRead} bytes`)
  }
})

test('a body without a length is cut off in the same way once it is too large', async () => {
  const opened = once(server, 'connection')
  const socket = connect({ port, host: '127.0.0.1', localAddress: otherNetwork() })
  socket.on('error', () => {})
  const [end] = (await opened) as [Socket]
  socket.write(headOf('POST /v1/tenants', bearer, 'transfer-encoding: chunked'))
  socket.write(`${(64 * mebibyte).toString(16)}\r\n`)
  socket.write(Buffer.alloc(64 * mebibyte))
  const [answer] = readAnswers(await readAll(socket))
  assert.deepEqual(
    [answer?.status, answer?.body.code, answer?.headers.connection],
    [413, 'payload_too_large', 'close'],
  )
  await until(() => end.destroyed)
  assert.ok(end.bytesRead < unreadLimits.discardedMax + bodyLimit + 4 * 65_536, `${end.bytesRead} bytes`)
})

test('what follows a refused body is no request', async () => {
  const asked: (string | undefined)[] = []
  const watch = ({ url }: IncomingMessage) => asked.push(url)
  const { socket, end } = await begin(headOf('POST /v1/nothing', announcing(100_000)))
  server.on('request', watch)
  await sent(socket, Buffer.concat([Buffer.alloc(100_000), Buffer.from(headOf('GET /healthz'))]))
  socket.end()
  assert.equal(readAnswers(await readAll(socket.resume())).length, 1)
  await until(() => end.destroyed)
  server.off('request', watch)
  assert.deepEqual(asked, [])
})

test('a network has few connections that discard a body; others are closed at once', async () => {
  const one = otherNetwork()
  const head = headOf('POST /v1/nothing', announcing(mebibyte))
  const began: Awaited<ReturnType<typeof begin>>[] = []
  for (let i = 0; i < unreadLimits.placesOfOne + 2; i++) began.push(await begin(head, one))
  await until(() => began.filter(({ end }) => end.destroyed).length === 2)
  assert.deepEqual(
    began.map(({ end }) => end.destroyed),
    [false, false, false, true, true],
  )
  for (const { socket, end } of began) {
    socket.destroy()
    await until(() => end.destroyed)
  }
  const late = await begin(head, one)
  await until(() => late.end.destroyed)
  const other = await begin(head)
  assert.equal(other.end.destroyed, false, 'the place of a closed connection is not free at once')
  other.socket.destroy()
})

test('a connection with a small unread body stays open, and discarded bytes are freed at once', async () => {
  const discarded: Buffer[] = []
  const watch = (request: IncomingMessage) => request.on('data', (bytes: Buffer) => discarded.push(bytes))
  server.prependListener('request', watch)
  const body = ' '.repeat(unreadLimits.keptMax)
  const request = headOf('POST /v1/nothing', announcing(body.length)) + body
  const last = headOf('GET /healthz', 'connection: close')
  const answers = await send(request.repeat(3) + last)
  server.off('request', watch)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 404, 404, 200],
  )
  assert.ok(discarded.length >= 3)
  assert.ok(discarded.every(({ buffer }) => (buffer as ArrayBuffer).detached))
})

test('a client that expects 100 Continue is asked for its body only if the head is accepted', async () => {
  const expecting = 'expect: 100-continue'
  for (const [status, line] of refused) {
    const { socket } = await begin(headOf(line, announcing(20_000), expecting))
    const heard = await readAll(socket.resume())
    assert.ok(heard.startsWith(`HTTP/1.1 ${status} `), heard)
    assert.match(heard, /\r\nconnection: close\r\n/i)
  }
  const socket = connect(port, '127.0.0.1')
  const body = '{"external_id":"asked"}'
  socket.write(headOf('POST /v1/tenants', bearer, announcing(body.length), expecting, 'connection: close'))
  const [first] = (await once(socket, 'data')) as [Buffer]
  assert.equal(first.toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
  socket.write(body)
  assert.match(await readAll(socket), /^HTTP\/1.1 201 /)
})
