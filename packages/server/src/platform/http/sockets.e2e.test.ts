import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { serveBounded } from '../../../test/bounded-server.ts'
import { makeCertificate } from '../../../test/certificate.ts'
import { startHarness } from '../../../test/harness.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { openWire, readAll, readAnswers } from '../../../test/wire.ts'
import { Refusal } from '../refusal.ts'
import { socketLimits } from './sockets.ts'

const get = (path = '/') => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`
const closed = async (socket: Socket) => {
  if (!socket.destroyed) await once(socket, 'close')
}

test('the allowed number of requests in flight is answered in order, then the next is refused', async () => {
  const asked: string[] = []
  const allArrived = Promise.withResolvers<void>()
  const { open } = await serveBounded(async ({ url = '' }, response) => {
    asked.push(url)
    if (asked.length === 16) allArrived.resolve()
    await allArrived.promise
    // By the next turn of the event loop the rest of the pipeline has been read. The first response is ready last.
    await setImmediate()
    if (url === '/1') await setImmediate()
    response.end(url)
  })
  const socket = await open()
  socket.write(Array.from({ length: 20 }, (_, i) => get(`/${i + 1}`)).join(''))
  const answers = readAnswers(await readAll(socket))
  const first16 = Array.from({ length: 16 }, (_, i) => `/${i + 1}`)
  assert.deepEqual(asked, first16)
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body]),
    [...first16.map(url => [200, url]), [429, '']],
  )
  assert.equal(answers.at(-1)?.headers.connection, 'close')
})

test('a pipeline of hundreds is answered as far as allowed, and closed with the reason', async () => {
  const harness = await startHarness()
  const wire = await openWire(harness)
  const answers = await wire.send(get('/healthz').repeat(1_000))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array<number>(16).fill(200), 429],
  )
  const last = answers.at(-1)
  assert.deepEqual(
    [last?.headers.connection, last?.headers['content-type'], last?.body.code],
    ['close', 'application/problem+json', 'too_many_requests'],
  )
})

test('the connection still closes if the last response has sent its head already', async () => {
  let first: ServerResponse | undefined
  const { open, server } = await serveBounded(({ url = '' }, response) => {
    if (url === '/1') first = response
    else response.end(url)
  })
  let seen = 0
  server.on('request', () => {
    seen += 1
  })
  const socket = await open()
  socket.write(Array.from({ length: 16 }, (_, i) => get(`/${i + 1}`)).join(''))
  await until(() => seen === 16)
  socket.write(get('/17'))
  await until(() => seen === 17)
  // Nothing behind it is answered either, although everything before it has been.
  first?.end('/1')
  socket.write(get('/18'))
  const answers = readAnswers(await readAll(socket))
  assert.deepEqual(
    answers.map(({ body }) => body),
    [...Array.from({ length: 16 }, (_, i) => `/${i + 1}`), ''],
  )
})

test('sequential requests on one connection are not limited', async () => {
  const { open } = await serveBounded(({ url }, response) => response.end(url))
  const socket = await open()
  for (let i = 0; i < 100; i++) {
    socket.write(get('/a') + get('/b'))
    let heard = ''
    while (heard.split('HTTP/1.1 200').length < 3 || !heard.endsWith('/b'))
      heard += String((await once(socket, 'data'))[0])
  }
  assert.equal(socket.destroyed, false)
  socket.destroy()
})

test('pipelines that wait are cut off beyond a number over all connections, which bounds memory', async () => {
  const { open } = await serveBounded(() => {})
  const sockets: Socket[] = []
  while (!sockets.some(({ destroyed }) => destroyed)) {
    const socket = await open()
    sockets.push(socket)
    socket.write(get().repeat(2_000))
    assert.ok(sockets.length < 100)
  }
  assert.ok(sockets.length > 8 && sockets.filter(({ destroyed }) => !destroyed).length >= 8)
  for (const socket of sockets) socket.destroy()
})

for (const [over, certificate] of [
  ['HTTP', null],
  ['TLS', makeCertificate()],
] as const)
  test(`over ${over} a reader that takes nothing is cut off; a slow one is not`, async () => {
    // Behind TLS a read returns a quarter.
    const answer = Buffer.alloc((certificate === null ? 64 : 16) * 1_048_576)
    let finished = 0
    const { open, ends } = await serveBounded(
      (_request, response) => {
        response.once('finish', () => {
          finished += 1
        })
        response.end(answer)
      },
      { readMs: 2_000, lookMs: 50 },
      certificate,
    )
    const stuck = await open()
    stuck.pause().write(get())
    const idle = await open()
    const slow = await open()
    slow.on('data', async () => {
      slow.pause()
      // The pace of a slow reader.
      await sleep(3)
      slow.resume()
    })
    slow.write(get())
    await until(() => ends[0]?.destroyed === true)
    await until(() => finished === 1)
    assert.deepEqual(
      ends.map(({ destroyed }) => destroyed),
      [true, false, false],
    )
    for (const socket of [stuck, slow, idle]) socket.destroy()
  })

test('a body that is too slow is refused or cut off; one at its rate is accepted', async () => {
  const limits = { bodyMs: 300, bodyFloor: 131_072, lookMs: 20 }
  const refused: unknown[] = []
  const handle: RequestListener = (request, response) => {
    if (request.url === '/unread') return response.end('early')
    request.on('error', error => {
      if (error instanceof Refusal) response.writeHead(408, { connection: 'close' }).end()
      refused.push(error)
    })
    request.on('end', () => response.end('taken'))
    return request.resume()
  }
  const { open } = await serveBounded(handle, { ...limits, bodyRate: 1_024 })
  const post = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`

  // A body larger than the floor may take longer, as long as it keeps arriving.
  const large = `${post('/', 393_216)}${' '.repeat(262_144)}`
  const steady = await open()
  steady.write(large)

  const stalled = await open()
  stalled.write(`${post('/', 10)}{`)
  assert.match(await readAll(stalled), /^HTTP\/1.1 408 /)
  const dripping = await open()
  dripping.write(`${post('/', 100_000)}{`)
  const drip = setInterval(() => dripping.write(' '), 5)
  assert.match(await readAll(dripping), /^HTTP\/1.1 408 /)
  clearInterval(drip)
  assert.ok(
    refused.length === 2 &&
      refused.every(error => error instanceof Refusal && error.code === 'request_timeout'),
  )

  const unread = await open()
  unread.write(`${post('/unread', 10).replace('connection: close\r\n', '')}{`)
  assert.match(await readAll(unread), /^HTTP\/1.1 200 .*early$/s)

  // By now the others have been refused, so it has taken longer than they may.
  steady.write(' '.repeat(131_072))
  assert.match(await readAll(steady), /^HTTP\/1.1 200 /)
  const faster = await serveBounded(handle, { ...limits, bodyRate: 1_048_576 })
  const resting = await faster.open()
  resting.write(large)
  assert.match(await readAll(resting), /^HTTP\/1.1 408 /)
})

const harness = await startHarness({ maxConnections: 10 })
const vendor = await makeVendor(harness)
const wire = await openWire(harness)

test('a head has 5 s and an ordinary body 10 s; later ones get a problem with 408', async () => {
  assert.deepEqual([socketLimits.bodyMs, socketLimits.bodyFloor], [10_000, 1_048_576])
  const head = await wire.open()
  head.write('GET /healthz HTTP/1.1\r\nhost: here\r\n')
  const body = await wire.open()
  body.write(
    `POST /v1/tenants HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${vendor.live}\r\n` +
      'content-type: application/json\r\ncontent-length: 30\r\n\r\n{',
  )
  for (const socket of [head, body]) {
    const [answer] = readAnswers(await readAll(socket))
    assert.deepEqual(
      [answer?.status, answer?.body.code, answer?.headers.connection],
      [408, 'request_timeout', 'close'],
    )
    assert.equal(answer?.headers['content-type']?.split(';')[0], 'application/problem+json')
    assert.equal(answer?.headers['x-request-id'], answer?.body.request_id)
  }
  const line = harness.logged.map(text => JSON.parse(text)).find(({ status }) => status === 408)
  assert.deepEqual([line?.route, line?.code, line?.level], ['/v1/tenants', 'request_timeout', 'info'])
})

test('a connection beyond the limit is closed and logged once, and there is room again later', async () => {
  const open = []
  for (let i = 0; i < 10; i++) open.push(await wire.open())
  for (let i = 0; i < 3; i++) await closed((await wire.open()).resume())
  const logged = harness.logged.filter(line => line.includes('SERVICE_MAX_CONNECTIONS'))
  assert.equal(logged.length, 1)
  assert.match(await harness.deps.metrics.text(), /^keyrail_connections_refused_total 3$/m)
  assert.deepEqual([JSON.parse(logged[0] ?? '').level, JSON.parse(logged[0] ?? '').connections], ['warn', 10])
  open[0]?.destroy()
  await until(() => Number((harness.app.server as unknown as { _connections: number })._connections) < 10)
  assert.equal((await wire.ask('GET /healthz', [])).status, 200)
  for (const socket of open) socket.destroy()
})
