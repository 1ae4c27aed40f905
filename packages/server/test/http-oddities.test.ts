import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, METHODS } from 'node:http'
import type { Socket } from 'node:net'
import { mock, test } from 'node:test'
import { serviceBudgets } from '../src/platform/budgets.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { until } from './until.ts'
import { makeVendor } from './vendor.ts'
import { openWire, readAll, readAnswers } from './wire.ts'

/** Odd requests that reach the service before or beside its routes, sent byte for byte over a socket. */
const harness = await startHarness()
const { query, logged } = harness
const vendor = await makeVendor(harness)
const wire = await openWire(harness)
const bearer = `authorization: Bearer ${vendor.live}`
const json = 'content-type: application/json'
const tenant = (name: string) => JSON.stringify({ external_id: name })

/** Sends an invalid request and expects a problem on a connection that is then closed. */
async function assertRefused(bytes: string | Uint8Array, status: number, code: string, end = false) {
  const answers = await wire.send(bytes, { end })
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.code, body.status]),
    [[status, code, status]],
  )
  const [answer] = answers
  assert.equal(answer?.headers['content-type'], 'application/problem+json')
  assert.equal(answer?.headers['x-request-id'], answer?.body.request_id)
  assert.equal(answer?.headers.connection, 'close')
}

test('malformed HTTP gets a problem with 400, and the connection closes', async () => {
  for (const bytes of [
    'hello\r\n\r\n',
    'GET /healthz HTTP/9.9\r\nhost: here\r\n\r\n',
    'BREW /healthz HTTP/1.1\r\nhost: here\r\n\r\n',
    'GET /healthz HTTP/1.1\nhost: here\n\n',
    'GET /healthz HTTP/1.1\r\nhost: here\nx: y\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nbad header: x\r\nhost: here\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost: here\r\nx: a\0b\r\n\r\n',
    'GET /healthz HTTP/1.1\r\nhost: here\r\n folded: x\r\n\r\n',
    'GET /health z HTTP/1.1\r\nhost: here\r\n\r\n',
    'POST /v1/tenants HTTP/1.1\r\nhost: here\r\ncontent-length: x\r\n\r\n',
    'POST /v1/tenants HTTP/1.1\r\nhost: here\r\ncontent-length: -1\r\n\r\n',
    'POST /v1/tenants HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
    'POST /v1/tenants HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/tenants HTTP/1.1\r\nhost: here\r\ntransfer-encoding: gzip\r\n\r\n{}',
    Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01),
  ]) {
    await assertRefused(bytes, 400, 'malformed_request').catch(error => {
      throw new Error(`after ${JSON.stringify(Buffer.from(bytes).toString('latin1'))}`, { cause: error })
    })
  }
})

test('a request without Host, or with two, is 400', async () => {
  for (const hosts of ['', 'host: here\r\nhost: there\r\n']) {
    const [answer] = await wire.send(`GET /healthz HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`)
    assert.deepEqual([answer?.status, answer?.body.code], [400, 'malformed_request'])
  }
})

test('a header section beyond 16 KiB is 431, in one header or in many', async () => {
  const head = 'GET /healthz HTTP/1.1\r\nhost: here\r\n'
  await assertRefused(`${head}x: ${'a'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large')
  await assertRefused(`${head}${'x: aaaaaaaaaaaaaaaa\r\n'.repeat(1_000)}\r\n`, 431, 'headers_too_large')
  await assertRefused(
    `GET /healthz?${'a'.repeat(20_000)} HTTP/1.1\r\nhost: here\r\n\r\n`,
    431,
    'headers_too_large',
  )
})

test('an unsupported method is 405 with the supported ones, and the body is not read', async () => {
  const others = METHODS.filter(method => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method))
  for (const method of [...others, 'DELETE']) {
    const answer = await wire.ask(`${method} /v1/keys`, ['content-type: text/odd'], 'not json')
    assert.deepEqual([method, answer.status, answer.headers.allow], [method, 405, 'GET, HEAD, POST'])
    assert.equal(answer.body.code, 'method_not_allowed')
  }
  const { headers } = await wire.ask(`OPTIONS /v1/keys/${vendor.projectId}`, [])
  assert.equal(headers.allow, 'GET, HEAD, PATCH')
})

test('an unknown route is 404 whatever the request, a path that cannot be decoded 400', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PROPFIND', 'OPTIONS']) {
    const answer = await wire.ask(`${method} /v1/nothing`, ['content-type: text/odd'], 'not json')
    assert.deepEqual([method, answer.status, answer.body.code], [method, 404, 'route_not_found'])
  }
  const { status, body } = await wire.ask('GET /v1/keys/%zz', [bearer])
  assert.deepEqual([status, body.code], [400, 'malformed_request'])
  for (const path of ['/v1', '/v1/', '/V1/keys', '/v1//keys', '/v1/keys/../tenants', '//v1/keys', '*']) {
    const answer = await wire.ask(`GET ${path}`, [bearer])
    assert.deepEqual([path, answer.status, answer.body.code], [path, 404, 'route_not_found'])
  }
})

test('HEAD answers like GET, without the body', async () => {
  for (const [path, headers, status] of [
    ['/healthz', [], '200'],
    ['/v1/keys', [bearer], '200'],
    ['/v1/keys', [], '401'],
    ['/v1/nothing', [], '404'],
  ] as const) {
    const socket = await wire.open()
    socket.write(
      `HEAD ${path} HTTP/1.1\r\n${['host: here', 'connection: close', ...headers].join('\r\n')}\r\n\r\n`,
    )
    const heard = await readAll(socket)
    assert.equal(heard.split(' ')[1], status, heard)
    assert.match(heard, /\r\nx-request-id: req_/)
    assert.ok(heard.endsWith('\r\n\r\n'), heard)
  }
})

test('an incomplete body changes nothing and logs no service failure', async () => {
  const before = await dump(query)
  const head = `POST /v1/tenants HTTP/1.1\r\nhost: here\r\n${bearer}\r\n${json}\r\n`
  for (const request of [
    `${head}content-length: 100\r\n\r\n`,
    `${head}content-length: 100\r\n\r\n${tenant('cut')}`,
    `${head}transfer-encoding: chunked\r\n\r\n1a\r\n${tenant('cut')}`,
  ]) {
    for (const answer of await wire.send(request, { end: true }))
      assert.equal(answer.body.code, 'malformed_request')
    const socket = await wire.open()
    socket.write(request, () => socket.resetAndDestroy())
    await new Promise(resolve => socket.once('close', resolve))
  }
  await wire.ask('GET /healthz', [])
  assert.deepEqual(await dump(query), before)
  assert.deepEqual(
    logged.filter(line => JSON.parse(line).level === 'error'),
    [],
  )
})

test('a body beyond the limit is 413, at once when its length is announced', async () => {
  const tooMuch = ' '.repeat(262_145)
  const announced = await wire.ask('POST /v1/tenants', [bearer, json, 'content-length: 262145'])
  assert.deepEqual(
    [announced.status, announced.body.code, announced.headers.connection],
    [413, 'payload_too_large', 'close'],
  )
  const chunk = `${tooMuch.length.toString(16)}\r\n${tooMuch}\r\n0\r\n\r\n`
  const chunked = await wire.ask('POST /v1/tenants', [bearer, json, 'transfer-encoding: chunked'], chunk)
  assert.deepEqual([chunked.status, chunked.body.code], [413, 'payload_too_large'])
})

test('a chunked body is read like any other', async () => {
  const body = tenant('chunked')
  const chunks = [...body].map(char => `1\r\n${char}\r\n`).join('')
  const answer = await wire.ask(
    'POST /v1/tenants',
    [bearer, json, 'transfer-encoding: chunked'],
    `${chunks}0\r\n\r\n`,
  )
  assert.equal(answer.status, 201, JSON.stringify(answer.body))
  const empty = await wire.ask(
    `POST /v1/tenants/${answer.body.id}/embed_tokens/revoke`,
    [bearer, 'transfer-encoding: chunked'],
    '0\r\n\r\n',
  )
  assert.equal(empty.status, 200, JSON.stringify(empty.body))
})

test('a body that arrives slower than the store’s deadline is not the store’s fault', async () => {
  const impatient = await harness.startImpatient()
  const impatientWire = await openWire(impatient)
  const body = tenant('slow')
  const arrived = once(impatient.app.server, 'request')
  const socket = await impatientWire.open()
  socket.write(
    `POST /v1/tenants HTTP/1.1\r\nhost: here\r\nconnection: close\r\n${bearer}\r\n${json}\r\ncontent-length: ${body.length}\r\n\r\n{`,
  )
  const [request] = (await arrived) as [IncomingMessage]
  await until(() => request.listenerCount('data') > 0)
  const now = performance.now.bind(performance)
  mock.method(performance, 'now', () => now() + serviceBudgets.requestMs + 100)
  socket.write(body.slice(1))
  const [answer] = readAnswers(await readAll(socket))
  assert.equal(answer?.status, 201, JSON.stringify(answer?.body))
})

test('pipelined requests are answered in order', async () => {
  const request = (path: string, more = '') =>
    `GET ${path} HTTP/1.1\r\nhost: here\r\n${bearer}\r\n${more}\r\n`
  const answers = await wire.send(
    request('/v1/workspace') +
      request('/healthz') +
      request('/v1/nothing') +
      request('/v1/keys', 'connection: close\r\n'),
  )
  assert.deepEqual(
    answers.map(({ body }) => body.object ?? body.status),
    ['workspace', 'ok', 404, 'list'],
  )
})

test('Expect: 100-continue is granted, and an unknown expectation is ignored', async () => {
  const answer = await wire.ask(
    'POST /v1/tenants',
    [bearer, json, 'expect: 100-continue'],
    tenant('expected'),
  )
  assert.equal(answer.status, 201)
  const odd = await wire.ask(
    'POST /v1/tenants',
    [bearer, json, 'expect: the-unexpected'],
    tenant('unexpected'),
  )
  assert.equal(odd.status, 201)
})

test('a missing credential is refused before the body has arrived', async () => {
  const socket = await wire.open()
  socket.write(`POST /v1/tenants HTTP/1.1\r\nhost: here\r\n${json}\r\ncontent-length: 1000000000\r\n\r\n{`)
  const first = await new Promise<Buffer>(resolve => socket.once('data', resolve))
  const [answer] = readAnswers(first.toString('latin1'))
  assert.deepEqual([answer?.status, answer?.body.code], [401, 'unauthenticated'])
  socket.destroy()
})

test('two Authorization headers are 401, even if both are valid', async () => {
  const { status, body } = await wire.ask('GET /v1/workspace', [bearer, bearer])
  assert.deepEqual([status, body.code], [401, 'unauthenticated'])
})

test('a request sent before the service closes still gets its response', async () => {
  const last = await startHarness()
  const lastWire = await openWire(last)
  const connected = once(last.app.server, 'connection')
  const socket = await lastWire.open()
  socket.write('GET /healthz HTTP/1.1\r\nhost: here\r\n\r\n')
  const first = await new Promise<Buffer>(resolve => socket.once('data', resolve))
  assert.equal(readAnswers(first.toString('latin1'))[0]?.status, 200)
  // A request that has begun keeps the connection from being idle.
  const [end] = (await connected) as [Socket]
  const before = end.bytesRead
  socket.write('GET /healthz HTTP/1.1\r\n')
  await until(() => end.bytesRead > before)
  const closed = last.app.close()
  await until(() => !last.app.server.listening)
  socket.write('host: here\r\n\r\n')
  const [answer] = readAnswers(await readAll(socket))
  assert.deepEqual([answer?.status, answer?.headers.connection], [200, 'close'])
  await closed
})

test('an x-request-id in the request is ignored', async () => {
  const { headers } = await wire.ask('GET /healthz', ['x-request-id: req_000000000000000000000000'])
  assert.notEqual(headers['x-request-id'], 'req_000000000000000000000000')
})
