import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { serveBounded } from '../../../test/bounded-server.ts'
import { makeCertificate } from '../../../test/certificate.ts'
import { until } from '../../../test/until.ts'
import { readAll, readAnswers } from '../../../test/wire.ts'
import { stopListening } from './stop-listening.ts'

/** Connections of a server that closes. */

const get = (path = '/') => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`
const closed = async (socket: Socket) => {
  if (!socket.destroyed) await once(socket, 'close')
}

for (const [over, certificate] of [
  ['HTTP', null],
  ['TLS', makeCertificate()],
] as const)
  test(`a server for ${over} that closes does not wait for a connection without a request`, async () => {
    const { server, open, ends } = await serveBounded(
      (_request, response) => void response.end(),
      { lookMs: 20 },
      certificate,
    )
    const silent = await open()
    const half = await open()
    half.write('GET / HTT')
    await until(() => ends.length === 2 && ends.some(({ bytesRead }) => bytesRead > 0))
    await new Promise(resolve => server.close(resolve))
    await Promise.all([closed(silent), closed(half)])
  })

/** Sends a request on a connection that has been in use, and reads until the connection ends. */
const askOn = (socket: Socket, path: string) => {
  const heard = readAll(socket)
  socket.write(get(path))
  return heard
}

test('once the server closes every response ends its connection, and nothing behind it begins', async () => {
  const asked: string[] = []
  const held = Promise.withResolvers<ServerResponse>()
  const { open, server } = await serveBounded(
    ({ url = '' }, response) => {
      asked.push(url)
      if (url === '/held') held.resolve(response)
      else response.end(url)
    },
    { keptMs: 3_600_000 },
  )
  let seen = 0
  server.on('request', () => {
    seen += 1
  })
  const [before, idle] = [await open(), await open()]
  idle.write(get('/kept'))
  await once(idle, 'data')
  const heardBefore = readAll(before)
  before.write(get('/held'))
  const response = await held.promise
  server.close()
  before.write(get('/behind'))
  await until(() => seen === 3)
  response.end('held')
  const heard = [await heardBefore, await askOn(idle, '/next')]
  assert.deepEqual(
    heard.flatMap(readAnswers).map(({ body, headers }) => [body, headers.connection]),
    [
      ['held', 'close'],
      ['/next', 'close'],
    ],
  )
  assert.deepEqual(asked, ['/kept', '/held', '/next'])
})

test('a server that closes takes all connections that wait to be taken', async () => {
  const { open, server } = await serveBounded(({ url = '' }, response) => void response.end(url))
  // Node takes one in each turn of its event loop; the kernel has opened all of them.
  const sockets = await Promise.all(Array.from({ length: 50 }, open))
  const closing = stopListening(server)
  const heard = await Promise.all(sockets.map((socket, i) => askOn(socket, `/${i}`)))
  await closing
  assert.deepEqual(
    heard.flatMap(readAnswers).map(({ body }) => body),
    sockets.map((_, i) => `/${i}`),
  )
  await assert.rejects(once(connect((sockets[0] as Socket).remotePort ?? 0, '127.0.0.1'), 'connect'))
})

for (const [over, certificate] of [
  ['HTTP', null],
  ['TLS', makeCertificate()],
] as const)
  test(`over ${over} a server that closes keeps a connection for a while after its response`, async () => {
    const serveKept = (keptMs: number) =>
      serveBounded(({ url = '' }, response) => void response.end(url), { keptMs }, certificate)
    const [brief, long] = [await serveKept(0), await serveKept(3_600_000)]
    const use = async ({ open }: typeof brief) => {
      const socket = await open()
      socket.write(get('/kept'))
      await once(socket, 'data')
      return socket
    }
    const [cut, kept] = [await use(brief), await use(long)]
    for (const { server } of [brief, long]) server.close()
    await closed(cut)
    assert.deepEqual(
      readAnswers(await askOn(kept, '/next')).map(({ body }) => body),
      ['/next'],
    )
  })

test('a request that arrives while the process stands still is answered, however long that was', async () => {
  const { open, server } = await serveBounded(({ url = '' }, response) => void response.end(url), {
    keptMs: 100,
    firstMs: 100,
  })
  const [kept, fresh, half] = [await open(), await open(), await open()]
  for (const socket of [kept, half]) {
    socket.write(get('/kept'))
    await once(socket, 'data')
  }
  const heard = [askOn(kept, '/next'), askOn(fresh, '/first')]
  half.write('GET / HTT')
  server.close()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  assert.deepEqual(
    (await Promise.all(heard)).flatMap(readAnswers).map(({ body }) => body),
    ['/next', '/first'],
  )
  await closed(half)
})
