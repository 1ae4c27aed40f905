import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { readAll, readAnswers } from '../../../test/wire.ts'
import { createLog } from './log.ts'
import { metricsConnectionsMax, serveMetrics } from './metrics-server.ts'

let texts = 0
/** What the next scrape waits for. */
let gate: Promise<string> = Promise.resolve('')
const metrics = {
  text: async () => {
    texts += 1
    return await gate
  },
}
const server = await serveMetrics({
  host: '127.0.0.1',
  port: 0,
  config: { publicUrl: 'https://keys.example' },
  metrics,
  log: createLog('silent'),
  randomBytes,
})
after(() => {
  server.close()
  server.closeAllConnections()
})
const { port } = server.address() as AddressInfo

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}
async function send(text: string) {
  const socket = await open()
  const answers = readAll(socket)
  socket.write(text)
  return readAnswers(await answers)
}
const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n${more}\r\n`

test('every answer is no-store and nosniff, also that of the parser', async () => {
  gate = Promise.resolve('figures 1\n')
  for (const [status, text] of [
    [200, get('/metrics')],
    [404, get('/')],
    [400, 'no request\r\n\r\n'],
    [431, get('/metrics', `x: ${'x'.repeat(17_000)}\r\n`)],
  ] as const) {
    const [answer] = await send(text)
    assert.equal(answer?.status, status)
    assert.equal(answer?.headers['cache-control'], 'no-store', String(status))
    assert.equal(answer?.headers['x-content-type-options'], 'nosniff', String(status))
  }
})

test('of pipelined scrapes one is made, the next is refused, and the connection closes', async () => {
  gate = Promise.resolve('x'.repeat(50_000))
  texts = 0
  const answers = await send('GET /metrics HTTP/1.1\r\nhost: here\r\n\r\n'.repeat(60))
  assert.deepEqual([texts, ...answers.map(({ status }) => status)], [1, 200, 429])
})

test('scrapes at one time share one reading of the figures', async () => {
  const figures = Promise.withResolvers<string>()
  gate = figures.promise
  texts = 0
  const first = send(get('/metrics'))
  await once(server, 'request')
  const second = send(get('/metrics'))
  await once(server, 'request')
  figures.resolve('figures 2\n')
  for (const [answer] of await Promise.all([first, second])) assert.equal(answer?.body, 'figures 2\n')
  assert.equal(texts, 1)
})

test('figures that cannot be read are a 500, and the process goes on', async () => {
  gate = Promise.reject(new Error('secret figures'))
  gate.catch(() => {})
  const [failed] = await send(get('/metrics'))
  assert.deepEqual([failed?.status, failed?.body, failed?.headers['cache-control']], [500, '', 'no-store'])
  gate = Promise.resolve('figures 3\n')
  assert.equal((await send(get('/metrics')))[0]?.body, 'figures 3\n')
})

test('connections are bounded, so that they cannot take the files of the process', async () => {
  const kept = await Promise.all(Array.from({ length: metricsConnectionsMax }, open))
  const dropped = once(server, 'drop')
  const over = connect(port, '127.0.0.1')
  over.on('error', () => {})
  await dropped
  for (const socket of [...kept, over]) socket.destroy()
})
