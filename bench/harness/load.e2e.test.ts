import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { closedLoop, openLoop } from './load.ts'
import { freePort } from './spawn-server.ts'

/** Echoes the body; `/status/418` answers with that status; `/deaf` never answers. Records its requests. */
const seen: { path: string; tag: string | undefined; body: string; socket: string }[] = []
const server = createServer((request, response) => {
  const path = request.url ?? ''
  const tag = request.headers['x-tag']
  let body = ''
  request.setEncoding('utf8').on('data', chunk => {
    body += chunk
  })
  request.on('end', () => {
    const { remotePort } = request.socket
    seen.push({ path, tag: typeof tag === 'string' ? tag : undefined, body, socket: String(remotePort) })
    if (path === '/deaf') return
    const status = Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200)
    response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
  })
})
const folder = mkdtempSync(join(tmpdir(), 'keyrail-load-'))
let url = ''

before(async () => {
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${port}`
})
after(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

const echo = { method: 'POST', path: '/echo', headers: { 'x-tag': 'a' }, body: '{"n":1}' } as const
const small = { connections: 3, seconds: 0.3, requests: [echo], core: null }

test('the closed loop keeps its connections, sends the requests and counts the answers', async () => {
  seen.length = 0
  const result = await closedLoop({ ...small, url, expectBody: '"n":1' })
  assert.ok(result.answered > 0)
  assert.deepEqual(result.statuses, { 200: result.answered })
  assert.equal(result.perSecond, result.answered / result.seconds)
  // The server has also seen the requests that the end cut off: at most one a connection.
  assert.ok(seen.length >= result.answered && seen.length <= result.answered + small.connections)
  assert.equal(new Set(seen.map(({ socket }) => socket)).size, small.connections)
  assert.deepEqual(
    new Set(seen.map(({ path, tag, body }) => `${path} ${tag} ${body}`)),
    new Set(['/echo a {"n":1}']),
  )
})

test('requests of a list are sent evenly, and connections start at different ones', async () => {
  const requests = ['a', 'b', 'c'].map(name => ({ path: `/${name}` }))
  seen.length = 0
  await closedLoop({ ...small, url, requests })
  const firstOfEach = new Map(seen.toReversed().map(({ socket, path }) => [socket, path]))
  assert.deepEqual([...firstOfEach.values()].sort(), ['/a', '/b', '/c'])

  seen.length = 0
  await openLoop({ ...small, url, requests, perSecond: 300 })
  for (const { path } of requests) assert.equal(seen.filter(one => one.path === path).length, 30)
})

test('a module makes each request, numbered over all connections', async () => {
  const module = join(folder, 'requests.mjs')
  writeFileSync(
    module,
    `export const makeRequests = prefix => n => ({ method: 'POST', headers: { 'x-tag': prefix + n }, body: String(n) })`,
  )
  const requests = { module: pathToFileURL(module).href, argument: 'key-' }
  const loads = [
    () => closedLoop({ ...small, url, requests }),
    () => openLoop({ ...small, url, requests, perSecond: 300 }),
  ]
  for (const load of loads) {
    seen.length = 0
    const { answered } = await load()
    assert.ok(answered > 0)
    assert.equal(new Set(seen.map(({ tag }) => tag)).size, seen.length)
    for (const { tag, body } of seen) assert.equal(tag, `key-${body}`)
  }
})

test('an answer with another status or body fails the load, in both loops', async () => {
  const teapot = { ...small, url, requests: [{ path: '/status/418' }] }
  const silent = { ...small, url, requests: [{ path: '/empty' }], expectBody: 'something' }
  for (const load of [teapot, silent]) {
    await assert.rejects(closedLoop(load), /wrong answers/)
    await assert.rejects(openLoop({ ...load, perSecond: 100 }), /30 wrong answers/)
  }
  const { statuses } = await closedLoop({ ...teapot, expectStatus: 418 })
  assert.deepEqual(Object.keys(statuses), ['418'])
})

test('a refused or broken connection fails the load', async t => {
  const closedUrl = `http://127.0.0.1:${await freePort()}`
  await assert.rejects(closedLoop({ ...small, url: closedUrl }), /failed connections/)
  await assert.rejects(openLoop({ ...small, url: closedUrl, perSecond: 100 }), /ECONNREFUSED/)

  const rude = createServer(request => void request.socket.destroy())
  t.after(() => rude.close())
  const port = await freePort()
  await new Promise<void>(resolve => rude.listen(port, '127.0.0.1', resolve))
  await assert.rejects(
    openLoop({ ...small, url: `http://127.0.0.1:${port}`, perSecond: 100 }),
    /failed connections/,
  )
})

test('the open loop sends exactly its rate, and times every answer', async () => {
  seen.length = 0
  const result = await openLoop({ ...small, url, perSecond: 500 })
  assert.equal(result.answered, 150)
  assert.equal(seen.length, 150)
  assert.deepEqual(result.statuses, { 200: 150 })
  assert.ok(result.p50Ms > 0 && result.p50Ms <= result.p99Ms && result.p99Ms <= result.maxMs)
})

test('in the open loop, latency counts from the due time, even behind a stalled server', async t => {
  const answeredAt: number[] = []
  let firstAt = 0
  const stalled = createServer((_, response) => {
    firstAt ||= performance.now()
    setTimeout(() => {
      answeredAt.push(performance.now())
      response.writeHead(200, { 'content-length': 0 }).end()
    }, 100)
  })
  t.after(() => stalled.close())
  const port = await freePort()
  await new Promise<void>(resolve => stalled.listen(port, '127.0.0.1', resolve))
  const load = {
    url: `http://127.0.0.1:${port}`,
    connections: 1,
    seconds: 0.5,
    perSecond: 20,
    requests: [{}],
  }
  const { answered, maxMs } = await openLoop({ ...load, core: null })
  assert.equal(answered, 10)
  // The last request was due nine intervals of 50 ms after the first, and waited for the nine before it.
  const lastMs = (answeredAt.at(-1) ?? 0) - firstAt - 9 * 50
  assert.ok(maxMs >= lastMs, `${maxMs} ms at most, ${lastMs} ms for the last`)
})

test('a load without requests is refused', async () => {
  await assert.rejects(closedLoop({ ...small, url, requests: [] }), /at least one request/)
})
