import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import crypto, { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, connect as connectTo } from 'node:net'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import {
  codehost,
  documentOf,
  makeCodehost,
  reportPath,
  signatureHeaders,
  signedReport,
} from '../../test/codehost.ts'
import { assertKeepsContract } from '../../test/contract-watch.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { drawToken } from '../platform/crypto/token.ts'

/** Everything that must not happen before a signature is verified. */
const none = { parsed: 0, hashed: 0, connected: 0, queried: 0, fetched: 0 }
let fetched = 0
/** What the current request has done so far; timers of the service are not counted. */
const doings = new AsyncLocalStorage<typeof none>()
const count = (what: keyof typeof none) => {
  const took = doings.getStore()
  if (took) took[what] += 1
}

let document = documentOf(codehost)
const server = createServer((_, response) => {
  fetched += 1
  response.end(document)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.closeAllConnections()
  server.close()
})
const { port } = server.address() as AddressInfo

const { app, deps } = await startHarness({
  codehostKeysFile: null,
  codehostKeysUrl: `http://127.0.0.1:${port}/keys`,
})

// The exports of the built-in module itself, since modules import them by name.
const { hash, createHash } = crypto
const { parse } = JSON
Object.assign(crypto, {
  hash: (...args: Parameters<typeof hash>) => {
    count('hashed')
    return hash(...args)
  },
  createHash: (...args: Parameters<typeof createHash>) => {
    count('hashed')
    return createHash(...args)
  },
})
syncBuiltinESMExports()
JSON.parse = (...args: Parameters<typeof parse>) => {
  count('parsed')
  return parse(...args)
}
const client = pg.Client.prototype
const { connect, query } = client
Object.assign(client, {
  connect(this: pg.Client, ...args: unknown[]) {
    count('connected')
    return Reflect.apply(connect, this, args)
  },
  query(this: pg.Client, ...args: unknown[]) {
    count('queried')
    return Reflect.apply(query, this, args)
  },
})
after(() => {
  Object.assign(crypto, { hash, createHash })
  syncBuiltinESMExports()
  JSON.parse = parse
  Object.assign(client, { connect, query })
})

interface Sent {
  body?: string | Buffer
  headers: Record<string, string | string[]>
}
/** @returns the response, and the work that it took. */
async function send({ body, headers }: Sent) {
  const doing = { ...none }
  const fetchedBefore = fetched
  const response = await doings.run(
    doing,
    async () =>
      await app.inject({
        method: 'POST',
        url: reportPath,
        headers: headers as Record<string, string>,
        ...(body !== undefined && { payload: body }),
      }),
  )
  const took = { ...doing, fetched: fetched - fetchedBefore }
  const heard = {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    body: response.json(),
  }
  assertKeepsContract({ method: 'POST', url: reportPath, ...heard })
  return { ...heard, code: heard.body.code, took }
}

const entries = [{ token: drawToken('kr_live', randomBytes), type: 'key', url: 'x', source: 'commit' }]
const right = signedReport(entries)
const idHeader = 'github-public-key-identifier'
const valueHeader = 'github-public-key-signature'
const { [idHeader]: keyId = '', [valueHeader]: value = '' } = right.headers as Record<string, string>

test('without a well-formed signature nothing is parsed, hashed, queried or fetched', async () => {
  const malformed: Record<string, Sent['headers']> = {
    none: {},
    'the id alone': { [idHeader]: keyId },
    'the signature alone': { [valueHeader]: value },
    'both empty': { [idHeader]: '', [valueHeader]: '' },
    'the id twice': { [idHeader]: [keyId, keyId], [valueHeader]: value },
    'the signature twice': { [idHeader]: keyId, [valueHeader]: [value, value] },
    'an odd id': { [idHeader]: '../keys', [valueHeader]: value },
    'a long id': { [idHeader]: 'a'.repeat(129), [valueHeader]: value },
    'no base64': { [idHeader]: keyId, [valueHeader]: `${value.slice(0, -1)}!` },
    'base64 with a blank': { [idHeader]: keyId, [valueHeader]: `${value.slice(0, 8)} ${value.slice(8)}` },
    'base64 without its end': { [idHeader]: keyId, [valueHeader]: value.slice(0, -1) },
    'base64 with more at its end': { [idHeader]: keyId, [valueHeader]: `${value}=` },
    base64url: { [idHeader]: keyId, [valueHeader]: Buffer.alloc(72, 0xff).toString('base64url') },
    'bits that base64 leaves over': { [idHeader]: keyId, [valueHeader]: 'AB==' },
    'a long signature': { [idHeader]: keyId, [valueHeader]: Buffer.alloc(300).toString('base64') },
  }
  for (const [what, headers] of Object.entries(malformed)) {
    const { status, code, headers: heard, took } = await send({ body: right.body, headers })
    assert.deepEqual([what, status, code], [what, 401, 'unauthenticated'])
    assert.equal(heard['www-authenticate'], what === 'none' ? 'Bearer' : 'Bearer error="invalid_token"')
    assert.deepEqual(took, none, what)
  }
})

test('a wrong signature is refused before any work, once the keys are known', async () => {
  const { status, body } = await send(right)
  assert.deepEqual([status, body[0].label], [200, 'false_positive'])
  const wrong: Record<string, Sent> = {
    'one byte more': { ...right, body: `${right.body} ` },
    'one byte less': { ...right, body: right.body.slice(0, -1) },
    'another body': { ...right, body: '[]' },
    'no body': { headers: right.headers },
    'of another key': { ...right, headers: { ...makeCodehost().sign(right.body), [idHeader]: keyId } },
    noise: { ...right, headers: signatureHeaders(keyId, randomBytes(72)) },
    'not even JSON': { body: '{', headers: right.headers },
  }
  for (const [what, sent] of Object.entries(wrong)) {
    const { status, code, took } = await send(sent)
    assert.deepEqual([what, status, code, took], [what, 401, 'unauthenticated', none])
  }
  const { status: again, took } = await send(right)
  assert.equal(again, 200)
  assert.ok(took.parsed > 0 && took.hashed > 0 && took.queried > 0, JSON.stringify(took))
  assert.equal(took.fetched, 0)
})

test('an unknown signing key is 503 within a minute of reading the keys', async () => {
  const stranger = makeCodehost()
  document = documentOf(codehost, stranger)
  const { status, code, took } = await send(signedReport(entries, stranger))
  assert.deepEqual([status, code, took], [503, 'unavailable', none])
})

test('a signed body that is not a report is 400, and never 500', async () => {
  const deep = '['.repeat(40) + ']'.repeat(40)
  for (const [body, code] of [
    ['', 'malformed_json'],
    ['{', 'malformed_json'],
    ['\uFEFF[]', 'malformed_json'],
    [Buffer.of(0x5b, 0xff, 0x5d), 'malformed_json'],
    [deep, 'malformed_json'],
    ['{}', 'validation_failed'],
    ['null', 'validation_failed'],
    ['"x"', 'validation_failed'],
    ['5', 'validation_failed'],
  ] as const) {
    const heard = await send({ body, headers: codehost.sign(body) })
    assert.deepEqual([body, heard.status, heard.code], [body, 400, code])
  }
  const noArray = await send({ body: '{}', headers: codehost.sign('{}') })
  assert.deepEqual(noArray.body.errors, [{ path: 'body', message: 'must be an array' }])
})

test('any content type is accepted; a compressed or oversized body is refused', async () => {
  for (const type of ['application/json; charset=latin1', 'text/plain', 'application/octet-stream']) {
    const { status } = await send({ ...right, headers: { ...right.headers, 'content-type': type } })
    assert.deepEqual([type, status], [type, 200])
  }
  const { 'content-type': _, ...untyped } = right.headers as Record<string, string>
  assert.equal((await send({ ...right, headers: untyped })).status, 200)
  const zipped = gzipSync(right.body)
  const compressed = await send({
    body: zipped,
    headers: { ...codehost.sign(zipped), 'content-encoding': 'gzip' },
  })
  assert.deepEqual([compressed.status, compressed.code], [415, 'unsupported_media_type'])

  const most = 5 * 1_048_576
  const largest = '[]'.padEnd(most)
  assert.equal((await send({ body: largest, headers: codehost.sign(largest) })).status, 200)
  const larger = '[]'.padEnd(most + 1)
  const refused = await send({ body: larger, headers: codehost.sign(larger) })
  assert.deepEqual([refused.status, refused.code, refused.took], [413, 'payload_too_large', none])
})

const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
/** Sends the head of a report with a large content length, and this many bytes of its body. */
function begin(bytes: number, id = keyId, { port } = address) {
  const socket = connectTo(Number(port), '127.0.0.1').on('error', () => {})
  const head = [
    `POST ${reportPath} HTTP/1.1`,
    'host: x',
    `${idHeader}: ${id}`,
    `${valueHeader}: ${value}`,
    `content-length: ${5 * 1_048_576}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  if (bytes > 0) socket.write('['.repeat(bytes))
  return socket
}

test('unverified bodies take no memory from authenticated requests', async () => {
  const sockets = [1, 2, 3].map(() => begin(5 * 1_048_576 - 1))
  await until(() => deps.signedBodies.held() >= 15 * 1_048_576 - 3, 'the bodies are held')
  const refused = begin(0)
  const [answer] = await once(refused, 'data')
  assert.match(String(answer), /^HTTP\/1.1 503 /)
  assert.equal(deps.largeBodies.held(), 0)
  assert.equal((await send(right)).status, 200)
  for (const socket of [...sockets, refused]) socket.destroy()
  await until(() => deps.signedBodies.held() === 0, 'no body is held')
})

test('clients that announce a report and do not send it do not block other reports', async () => {
  const idle = Array.from({ length: 20 }, () => begin(1))
  await Promise.all(idle.map(socket => once(socket, 'connect')))
  // Requests after them on the same loop are handled when the idle ones have arrived.
  for (let i = 0; i < 20; i++) assert.equal((await send(right)).status, 200)
  assert.equal(deps.signedBodies.held(), 0)
  const large = signedReport(Array.from({ length: 2_000 }, () => entries[0] as (typeof entries)[number]))
  assert.ok(large.body.length > 100_000)
  const response = await fetch(new URL(reportPath, address), {
    method: 'POST',
    headers: large.headers as Record<string, string>,
    body: large.body,
  })
  assert.equal(response.status, 200)
  for (const socket of idle) socket.destroy()
})

test('an unknown signing key id is refused before the body arrives', async () => {
  const fresh = await startHarness({
    codehostKeysFile: null,
    codehostKeysUrl: `http://127.0.0.1:${port}/keys`,
  })
  const at = new URL(await fresh.app.listen({ host: '127.0.0.1', port: 0 }))
  document = documentOf(codehost)
  // The first request reads the keys and does not find it; within the next minute the answer is not known.
  for (const status of [401, 503]) {
    const socket = begin(0, 'f'.repeat(64), at)
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), new RegExp(`^HTTP/1.1 ${status} `))
    socket.destroy()
  }
})
