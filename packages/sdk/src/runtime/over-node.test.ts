import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { failureOf } from '../../test/failure-of.ts'
import { drawKey } from '../../test/keys.ts'
import { answered, startRawService } from '../../test/raw-service.ts'
import { type Carrier, overEach } from '../../test/transports.ts'
import { until } from '../../test/until.ts'
import { createHttpSender, type HttpRequest } from '../http/call.ts'
import { readConnection, readConnectionParts } from '../http/connection-options.ts'
import { streamBody } from '../http/stream.ts'
import { systemTimer } from './timer.ts'

const secretKey = drawKey('krsk_live')
const limits = { timeoutMs: 20_000, maxBytes: 100_000 }
const read: HttpRequest = { method: 'GET', path: '/v1/projects', accepts: [200] }
const change: HttpRequest = { method: 'POST', path: '/v1/keys', body: { name: 'ü' }, accepts: [200] }

/** Sends one request. */
function send(url: string, request: HttpRequest, fetch?: Carrier, more: object = {}) {
  return readConnection({ url, secretKey, fetch })({ ...request, ...limits, ...more })
}
const failure = (running: Promise<unknown>) => failureOf(running, secretKey)

overEach('a request has the same line, headers that matter, and body', async fetch => {
  const seen: unknown[] = []
  const server = createServer(async (request, response) => {
    const { authorization, accept, pragma, host: _, 'user-agent': agent, ...headers } = request.headers
    let body = ''
    for await (const piece of request) body += piece
    const shared = ['cache-control', 'content-length', 'content-type', 'transfer-encoding']
    const rest = Object.fromEntries(shared.map(name => [name, headers[name]]))
    seen.push([request.method, request.url, authorization, accept, pragma, agent, rest, body])
    response.end('{}')
  })
  await using _closed = { [Symbol.asyncDispose]: async () => void server.close() }
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/base/`
  const odd = { ...read, path: '/v1/keys/a b/../ü', query: new URLSearchParams({ q: 'a b' }) }
  for (const each of [odd, change, { ...change, method: 'DELETE' as const }, { ...change, body: undefined }])
    await send(url, each, fetch)
  const agent = `keyrail-sdk/0.1.0 node/${process.versions.node}`
  const common = [`Bearer ${secretKey}`, 'application/json', 'no-cache', agent]
  const json = { 'content-type': 'application/json', 'content-length': '13', 'transfer-encoding': undefined }
  const none = { 'content-type': undefined, 'content-length': undefined, 'transfer-encoding': undefined }
  const rest = (more: object) => ({ 'cache-control': 'no-cache', ...more })
  assert.deepEqual(seen, [
    ['GET', '/base/v1/keys/%C3%BC?q=a+b', ...common, rest(none), ''],
    ['POST', '/base/v1/keys', ...common, rest(json), '{"name":"ü"}'],
    ['DELETE', '/base/v1/keys', ...common, rest(json), '{"name":"ü"}'],
    ['POST', '/base/v1/keys', ...common, rest({ ...none, 'content-length': '0' }), ''],
  ])
})

overEach('a header that would begin another is refused, and nothing is sent', async fetch => {
  const service = await startRawService(({ socket }) => void socket.write(answered('{}')))
  for (const value of ['a\r\nx-more: b', 'a\nb', 'a\0b', '\u0100'])
    assert.equal(
      (await failure(send(service.url, { ...change, headers: { 'x-odd': value } }, fetch))).code,
      'network_error',
    )
  assert.equal(service.connections, 0)
})

test('a connection is kept and used again, by clients of their own', async () => {
  const service = await startRawService(({ socket }) => void socket.write(answered('{}')))
  for (let turn = 0; turn < 5; turn++) await send(service.url, turn % 2 ? change : read)
  assert.deepEqual([service.connections, service.requests.length], [1, 5])
})

overEach('a call on a kept connection that ends without an answer is not sent again', async fetch => {
  const service = await startRawService(({ socket }) => {
    if (service.requests.length === 1) socket.write(answered('{}'))
    else socket.resetAndDestroy()
  })
  await send(service.url, change, fetch)
  const { code, retryable } = await failure(send(service.url, change, fetch))
  assert.deepEqual([code, retryable], ['network_error', true])
  assert.equal(service.requests.length, 2)
})

overEach('bytes that come between two calls answer none', async fetch => {
  let isSent = false
  const service = await startRawService(({ socket }) => {
    const { length } = service.requests
    socket.write(answered(`{"to":${length}}`))
    if (length > 1) return
    setTimeout(() => {
      isSent = true
      socket.write(answered('{"to":"nobody"}'))
    }, 20)
  })
  await send(service.url, read, fetch)
  await until(() => isSent && service.open === 0, 'the connection is given up')
  assert.equal((await send(service.url, read, fetch)).text, '{"to":2}')
})

overEach('a call that is aborted or late closes its connection, before or within the body', async fetch => {
  for (const start of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{']) {
    const service = await startRawService(({ socket }) => void (start && socket.write(start)))
    const abort = new AbortController()
    const running = failure(send(service.url, change, fetch, { signal: abort.signal }))
    await until(() => service.requests.length === 1, 'it is sent')
    abort.abort()
    assert.equal((await running).code, 'aborted')
    await until(() => service.open === 0, 'the connection of the aborted call is closed')
    assert.equal((await failure(send(service.url, change, fetch, { timeoutMs: 50 }))).code, 'timeout')
    await until(() => service.open === 0, 'the connection of the late call is closed')
  }
})

overEach('an aborted call that was not sent yet is not sent', async fetch => {
  const service = await startRawService(({ socket }) => void socket.write(answered('{}')))
  const abort = new AbortController()
  const asked = readConnection({
    url: service.url,
    fetch,
    secretKey: async () => {
      abort.abort()
      return secretKey
    },
  })({ ...read, ...limits, signal: abort.signal })
  assert.equal((await failure(asked)).code, 'aborted')
  await send(service.url, read, fetch)
  assert.equal(service.requests.length, 1)
})

overEach('an answer that is too large closes its connection', async fetch => {
  const service = await startRawService(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n')
    socket.write(Buffer.alloc(200_000, ' '))
  })
  assert.equal((await failure(send(service.url, read, fetch))).code, 'response_too_large')
  await until(() => service.open === 0, 'its connection is closed')
})

overEach('the bound of an answer counts bytes after decompression, and a bomb closes', async fetch => {
  const text = JSON.stringify({ a: 'x'.repeat(limits.maxBytes - 8) })
  for (const [encoding, compress] of [
    ['br', brotliCompressSync],
    ['gzip', gzipSync],
  ] as const) {
    let body = text
    const service = await startRawService(({ socket }) => {
      socket.write(answered(compress(body), `Content-Encoding: ${encoding}\r\n`))
    })
    assert.equal((await send(service.url, read, fetch)).text, text)
    body += ' '
    assert.equal((await failure(send(service.url, read, fetch))).code, 'response_too_large')
  }
})

test('damaged or shortened compression is an error, in an answer and in a stream', async () => {
  const whole = gzipSync('{"a":1}\n{"b":2}\n')
  const damaged = Buffer.from(whole)
  // Its checksum.
  damaged.writeUInt32LE(1, damaged.length - 8)
  for (const body of [whole.subarray(0, -9), damaged, Buffer.alloc(0)]) {
    const service = await startRawService(({ socket }) => {
      socket.write(answered(body, 'Content-Encoding: gzip\r\n'))
    })
    assert.equal((await failure(send(service.url, read))).code, 'network_error')
    const sender = createHttpSender(readConnectionParts({ url: service.url, secretKey }))
    const stream = streamBody(sender, { ...read, timeoutMs: 20_000, timer: systemTimer })
    const readAll = async () => {
      for await (const _ of stream);
    }
    assert.equal((await failure(readAll())).code, 'network_error')
  }
})

overEach('a stream whose reader stops, or whose caller aborts, closes its connection', async fetch => {
  const service = await startRawService(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n')
  })
  const sender = createHttpSender(readConnectionParts({ url: service.url, secretKey, fetch }))
  const abort = new AbortController()
  const stream = () =>
    streamBody(sender, { ...read, timeoutMs: 20_000, timer: systemTimer, signal: abort.signal })
  for await (const piece of stream()) {
    assert.equal(String(Buffer.from(piece)), '{}')
    break
  }
  await until(() => service.open === 0, 'the connection of the reader is closed')
  const reader = stream()
  await reader.next()
  const next = reader.next()
  abort.abort()
  assert.equal((await failure(next)).code, 'aborted')
  await until(() => service.open === 0, 'the connection of the caller is closed')
})

overEach('an answer counts that comes before the request is read, and then a reset', async fetch => {
  const service = await startRawService(({ socket, turn }) => {
    if (turn > 1) return
    socket.pause()
    const body = '{"code":"payload_too_large"}'
    const head = `HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.end(head + body)
  })
  const large = { ...change, body: { text: 'x'.repeat(8 * 1024 * 1024) } }
  const { code } = await failure(send(service.url, large, fetch))
  // A reset that overtakes the answer leaves none.
  assert.ok(['payload_too_large', 'network_error'].includes(code), code)
})

test('a switch to another protocol is an error at once', async () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: odd\r\n\r\n'
  const service = await startRawService(({ socket }) => void socket.write(head))
  assert.equal((await failure(send(service.url, read))).code, 'network_error')
})

test('a large compressed answer is whole although the service closes at once', async () => {
  const text = JSON.stringify(Array.from({ length: 300_000 }, (_, number) => number * 7_919))
  const service = await startRawService(({ socket }) => {
    socket.end(answered(gzipSync(text), 'Connection: close\r\nContent-Encoding: gzip\r\n'))
  })
  assert.equal((await send(service.url, read, undefined, { maxBytes: 10_000_000 })).text, text)
})

overEach('answers before the answer are skipped', async fetch => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
  const service = await startRawService(({ socket }) => {
    socket.write(`HTTP/1.1 102 Processing\r\n\r\n${hints}`)
    socket.write(answered('{"a":1}'))
  })
  assert.equal((await send(service.url, read, fetch)).text, '{"a":1}')
})

overEach('a proxy that wants a password is a network error', async fetch => {
  const head = 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n'
  const service = await startRawService(({ socket }) => void socket.write(head))
  assert.equal((await failure(send(service.url, read, fetch))).code, 'network_error')
})

test('more calls than connections wait for one, and each gets its own answer', async () => {
  const waiting: (() => void)[] = []
  const service = await startRawService(({ socket, text }) => {
    const [, number] = /GET \/v1\/(\d+) /.exec(text) ?? []
    waiting.push(() => void socket.write(answered(`{"number":${number}}`)))
  })
  const call = readConnection({ url: service.url, secretKey })
  const calls = Array.from({ length: 300 }, async (_, number) => {
    const { text } = await call({ ...read, ...limits, path: `/v1/${number}` })
    return JSON.parse(text).number
  })
  await until(() => waiting.length === 256, 'all connections are used')
  const answering = setInterval(() => {
    for (const answer of waiting.splice(0)) answer()
  }, 5)
  assert.deepEqual(
    await Promise.all(calls),
    calls.map((_, number) => number),
  )
  clearInterval(answering)
  assert.equal(service.connections, 256)
})
