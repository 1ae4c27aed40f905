import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { nameOf } from '../../../../test/samples.ts'
import { until } from '../../../../test/until.ts'
import { claimScope, makeVendor } from '../../../../test/vendor.ts'
import { openWire, readAll, readAnswers } from '../../../../test/wire.ts'
import { routes } from '../../../routes.ts'
import { pieceLimits } from './pieces.ts'

/** Bodies in very small pieces, sent over a socket. */
const mebibyte = 1_048_576
const harness = await startHarness()
const vendor = await makeVendor(harness)
const wire = await openWire(harness)
const bearer = `authorization: Bearer ${vendor.live}`
const json = 'content-type: application/json'
const chunked = 'transfer-encoding: chunked'
const inBytes = (text: string) => [...text].map(char => `1\r\n${char}\r\n`).join('')

test('a body in chunks of one byte is 400, and what was read of it is bounded', async () => {
  let got = 0
  const watch = (request: IncomingMessage) => {
    const on = request.on.bind(request)
    // A listener from the start would let the body flow before its reader.
    request.on = (event: string, listener) => {
      if (event === 'data') on('data', () => got++)
      return on(event, listener)
    }
  }
  const opened = once(harness.app.server, 'connection')
  harness.app.server.prependListener('request', watch)
  const socket = await wire.open()
  const [end] = (await opened) as [Socket]
  const scope = await claimScope(harness, vendor)
  const [head = ''] = JSON.stringify({ ...scope, status: 200, body: '#' }).split('#')
  socket.on('error', () => {})
  socket.write(
    `POST /v1/idempotency/complete HTTP/1.1\r\nhost: here\r\n${bearer}\r\n${json}\r\n${chunked}\r\n\r\n${inBytes(head)}`,
  )
  // No more than a closing connection discards, so that no reset overtakes the answer.
  socket.write(inBytes('a'.repeat(100_000)))
  const [answer] = readAnswers(await readAll(socket))
  harness.app.server.off('request', watch)
  assert.deepEqual(
    [answer?.status, answer?.body.code, answer?.headers.connection],
    [400, 'malformed_request', 'close'],
  )
  assert.match(answer?.body.detail, /small pieces/)
  await until(() => end.destroyed)
  const { slackOfChunks, bytesOfOne } = pieceLimits
  assert.ok(got > 0 && got <= slackOfChunks * (1 + 1 / bytesOfOne) + 1, `${got} pieces`)
})

test('routes without a credential take no body in chunks, and close the connection', async () => {
  const open = routes.filter(({ access, method }) => access.open && method !== 'GET')
  assert.ok(open.some(({ signed }) => signed !== null))
  for (const route of open) {
    const path = route.path.replace(/:\w+/, vendor.tenantId)
    const answer = await wire.ask(`${route.method} ${path}`, [json, chunked], `${inBytes('{}')}0\r\n\r\n`)
    assert.deepEqual(
      [answer.status, answer.body.code, answer.headers.connection],
      [411, 'length_required', 'close'],
      nameOf(route),
    )
  }
})

test('of a body that closes its connection, no piece is made, and later connections are whole', async () => {
  let pieces = 0
  const watch = (request: IncomingMessage) => {
    const push = request.push.bind(request)
    request.push = (piece: Buffer | null) => {
      if (piece !== null) pieces += 1
      return push(piece)
    }
  }
  harness.app.server.prependListener('request', watch)
  const flood = inBytes('a'.repeat(20_000))
  for (const head of [
    `POST /v1/auth/sessions HTTP/1.1\r\nhost: here\r\n${json}\r\n${chunked}`,
    `POST /v1/nothing HTTP/1.1\r\nhost: here\r\n${json}\r\n${chunked}`,
    `POST /v1/audit_logs HTTP/1.1\r\nhost: here\r\n${bearer}\r\n${json}\r\n${chunked}`,
  ]) {
    pieces = 0
    await wire.send(`${head}\r\n\r\n${flood}`)
    assert.ok(pieces < 10, `${pieces} pieces of ${head}`)
  }
  harness.app.server.off('request', watch)
  for (let i = 0; i < 5; i++) {
    const { status } = await wire.ask('POST /v1/tenants', [bearer, json], `{"external_id":"whole-${i}"}`)
    assert.equal(status, 201)
  }
})

test('a body that came too finely before its answer closes the connection, whatever the answer', async () => {
  // Complete with the first read, before the gate has answered.
  const body = `${inBytes('a'.repeat(pieceLimits.slackOfChunks + 100))}0\r\n\r\n`
  for (const [line, header, status] of [
    ['POST /v1/tenants', 'authorization: Bearer krsk_live_nobody', 401],
    ['POST /v1/tenants', bearer, 400],
    ['GET /v1/workspace', bearer, 200],
  ] as const) {
    const head = `${line} HTTP/1.1\r\nhost: here\r\n${header}\r\n${json}\r\n${chunked}\r\n\r\n`
    const answers = await wire.send(head + body)
    assert.deepEqual(
      answers.map(answer => [answer.status, answer.headers.connection]),
      [[status, 'close']],
      line,
    )
  }
})

test('a request behind one that closes its connection is not served without its body', async () => {
  const body = '{"external_id":"behind"}'
  const behind = `POST /v1/tenants HTTP/1.1\r\nhost: here\r\n${bearer}\r\n${json}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const refused = `POST /v1/auth/sessions HTTP/1.1\r\nhost: here\r\n${json}\r\n${chunked}\r\n\r\n${inBytes('{}')}0\r\n\r\n`
  const answers = await wire.send(refused + behind)
  assert.deepEqual(
    answers.map(({ status }) => status),
    [411],
  )
  const { body: found } = await harness.ask('GET', '/v1/tenants?external_id=behind', { token: vendor.live })
  assert.deepEqual(found.data, [])
})

test('a large body may come in chunks of any size that carry enough on average', async () => {
  const scope = await claimScope(harness, vendor)
  const body = JSON.stringify({ ...scope, status: 200, body: 'A'.repeat(mebibyte) })
  const chunks = [`1\r\n${body[0]}\r\n`]
  for (let at = 1; at < body.length; at += 600) {
    const chunk = body.slice(at, at + 600)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  const answer = await wire.ask(
    'POST /v1/idempotency/complete',
    [bearer, json, chunked],
    `${chunks.join('')}0\r\n\r\n`,
  )
  assert.deepEqual([answer.status, answer.body.verdict], [200, 'completed'])
})
