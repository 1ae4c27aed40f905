import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHarness } from '../../../test/harness.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { openWire, readAll, readAnswers } from '../../../test/wire.ts'
import { Refusal } from '../refusal.ts'
import { boundSockets, type SocketLimits, socketLimits } from './sockets.ts'

/** A server of nothing but the bounds, so that they can be short. */
async function serve(handle: RequestListener, limits: Partial<SocketLimits> = {}) {
  const sockets = boundSockets(handle, { ...socketLimits, ...limits })
  const server = createServer(sockets.listener).listen(0, '127.0.0.1')
  sockets.watch(server)
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  /** The service's own end of the newest connection. */
  const ends: Socket[] = []
  server.on('connection', end => ends.push(end))
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  return { server, open, ends }
}
const get = (path = '/') => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5)
}
const closed = async (socket: Socket) => {
  if (!socket.destroyed) await once(socket, 'close')
}

test('as many requests as may be in flight are answered in turn, and the connection is closed behind them', async () => {
  const asked: string[] = []
  const { open } = await serve(async ({ url = '' }, response) => {
    asked.push(url)
    // The first is the last to be ready.
    await sleep(url === '/1' ? 100 : 10)
    response.end(url)
  })
  const socket = await open()
  socket.write(Array.from({ length: 20 }, (_, i) => get(`/${i + 1}`)).join(''))
  const answers = readAnswers(await readAll(socket))
  const first16 = Array.from({ length: 16 }, (_, i) => `/${i + 1}`)
  assert.deepEqual(asked, first16)
  assert.deepEqual(
    answers.map(({ body }) => body),
    first16,
  )
  assert.equal(answers.at(-1)?.headers.connection, 'close')
})

test('where the last answer has left its head already, the connection is closed behind it all the same', async () => {
  let first: ServerResponse | undefined
  const { open, server } = await serve(({ url = '' }, response) => {
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
  // Whatever comes behind it is not answered either, though those before it have been.
  first?.end('/1')
  socket.write(get('/18'))
  const answers = readAnswers(await readAll(socket))
  assert.deepEqual(
    answers.map(({ body }) => body),
    Array.from({ length: 16 }, (_, i) => `/${i + 1}`),
  )
})

test('requests one behind the other may be as many as one likes', async () => {
  const { open } = await serve(({ url }, response) => response.end(url))
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

test('a pipeline far longer than that is cut off, so that what it holds is bounded', async () => {
  let asked = 0
  const { open } = await serve(() => {
    asked += 1
  })
  const socket = await open()
  socket.write(get().repeat(1_000))
  await closed(socket)
  assert.equal(asked, 16)
})

test('a reader who takes nothing of what waits for it is cut off; one who takes it slowly is not', async () => {
  const answer = Buffer.alloc(64 * 1_048_576)
  let finished = 0
  const { open, ends } = await serve(
    (_request, response) => {
      response.once('finish', () => {
        finished += 1
      })
      response.end(answer)
    },
    { readMs: 2_000, lookMs: 50 },
  )
  const stuck = await open()
  stuck.pause().write(get())
  const idle = await open()
  const slow = await open()
  slow.on('data', async () => {
    slow.pause()
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

test('a body that is too slow is refused by its reader, and cut off where nobody reads; one at its rate is taken', async () => {
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
  const { open } = await serve(handle, { ...limits, bodyRate: 1_024 })
  const post = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`

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

  // Larger than the floor: it may take longer, as long as it goes on.
  const large = `${post('/', 393_216)}${' '.repeat(262_144)}`
  const steady = await open()
  steady.write(large)
  await sleep(1_000)
  steady.write(' '.repeat(131_072))
  assert.match(await readAll(steady), /^HTTP\/1.1 200 /)
  const faster = await serve(handle, { ...limits, bodyRate: 1_048_576 })
  const resting = await faster.open()
  resting.write(large)
  assert.match(await readAll(resting), /^HTTP\/1.1 408 /)
})

const harness = await startHarness({ maxConnections: 10 })
const vendor = await makeVendor(harness)
const wire = await openWire(harness)

test('a head has 5 s and a body of ordinary size 10 s, and who is too slow is told so with a problem', async () => {
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

test('one connection more than there may be is closed, the log says why once, and there is room again', async () => {
  const open = []
  for (let i = 0; i < 10; i++) open.push(await wire.open())
  for (let i = 0; i < 3; i++) await closed((await wire.open()).resume())
  const told = harness.logged.filter(line => line.includes('SERVICE_MAX_CONNECTIONS'))
  assert.equal(told.length, 1)
  assert.deepEqual([JSON.parse(told[0] ?? '').level, JSON.parse(told[0] ?? '').connections], ['warn', 10])
  open[0]?.destroy()
  await until(() => Number((harness.app.server as unknown as { _connections: number })._connections) < 10)
  assert.equal((await wire.ask('GET /healthz', [])).status, 200)
  for (const socket of open) socket.destroy()
})
