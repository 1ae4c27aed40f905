import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { startHarness } from '../../../../test/harness.ts'
import { makePerson } from '../../../../test/people.ts'
import { until } from '../../../../test/until.ts'
import { claimScope, makeVendor } from '../../../../test/vendor.ts'
import { openWire } from '../../../../test/wire.ts'
import { pageLimits } from '../../paging/listed.ts'
import { socketLimits } from '../sockets.ts'
import { bodyLimit } from './body.ts'
import { largeBytesMax } from './large-bodies.ts'

/** Large bodies and responses of a service that listens. */
const mebibyte = 1_048_576
// The tests begin and end bodies themselves, however slow the machine is.
Object.assign(socketLimits, { bodyMs: 120_000 })
// A refused sender that asks to close its connection may get a reset before it reads the response. They end before the service,
// which waits for bodies that have begun.
const keptAlive = new Agent({ keepAlive: true })
after(() => keptAlive.destroy())
const harness = await startHarness()
const vendor = await makeVendor(harness)
const { port } = await openWire(harness)
const { largeBodies } = harness.deps

/** Stands in for another request's response, to take a share. */
const anAnswer = () => new EventEmitter() as unknown as ServerResponse

const large = 6_291_456

/** Sends a large completion except its end, so that its share stays taken until the test ends it. */
function beginLarge(body: { scope_hash: string; env: string; lock_token: string }, token = vendor.live) {
  const [head = '', tail = ''] = JSON.stringify({ ...body, status: 200, body: '#' }).split('#')
  // Without a length, because one sender's bodies with a length are read one at a time.
  const call = request({
    port,
    agent: keptAlive,
    method: 'POST',
    path: '/v1/idempotency/complete',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  call.on('error', () => {})
  call.write(head)
  call.write('A'.repeat(large))
  return { call, end: () => call.end(tail), heard: hear(call) }
}
async function hear(call: ClientRequest) {
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { response, body: JSON.parse(Buffer.concat(chunks).toString()) }
}

test('large bodies get 429 beyond half of the room per workspace, and small ones pass', async () => {
  const other = await makeVendor(harness)
  const began = []
  for (const owner of [vendor, other]) {
    for (let i = 0; i < Math.floor(largeBytesMax / 2 / large); i++) {
      began.push(beginLarge(await claimScope(harness, owner), owner.live))
      await until(() => largeBodies.held() > began.length * large)
    }
    const { response } = await beginLarge(await claimScope(harness, owner), owner.live).heard
    assert.equal(response.statusCode, 429)
  }

  const scope = await claimScope(harness, vendor)
  const { response, body } = await beginLarge(scope).heard
  assert.deepEqual([response.statusCode, response.headers['retry-after']], [429, '1'])
  assert.equal(body.code, 'too_many_in_flight')
  const small = await harness.ask('POST', '/v1/idempotency/heartbeat', { token: vendor.live, body: scope })
  assert.equal(small.body.verdict, 'extended', 'a small request succeeds, and the refused one did nothing')
  const unknown = await beginLarge(scope, 'krsk_live_nobody').heard
  assert.equal(unknown.response.statusCode, 401, 'a request without a valid credential takes no room')

  // One by one: this tests the room, not how fast the database writes them all.
  for (const { end, heard } of began) {
    end()
    assert.equal((await heard).body.verdict, 'completed')
  }
  await until(() => largeBodies.held() === 0)
})

/** Begins a completion without a length. */
function beginChunked(body: { scope_hash: string; env: string; lock_token: string }, agent: Agent | false) {
  const [head = '', tail = ''] = JSON.stringify({ ...body, status: 200, body: '#' }).split('#')
  const call = request({
    port,
    agent,
    method: 'POST',
    path: '/v1/idempotency/complete',
    headers: { authorization: `Bearer ${vendor.live}`, 'content-type': 'application/json' },
  })
  call.on('error', () => {})
  call.write(head)
  return { call, end: () => call.end(tail), heard: hear(call) }
}

test('many small bodies without a length block no other request', async () => {
  const scopes = await Promise.all(Array.from({ length: 30 }, () => claimScope(harness, vendor)))
  const began = scopes.map(scope => beginChunked(scope, false))
  const one = beginLarge(await claimScope(harness, vendor))
  await until(() => largeBodies.held() > large)
  assert.ok(largeBodies.held() < large + 1_024)
  one.end()
  assert.equal((await one.heard).body.verdict, 'completed')
  for (const { end } of began) end()
  for (const { heard } of began) assert.equal((await heard).body.verdict, 'completed')
})

test('a body that exceeds the room gets 503, and its connection stays open', async context => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  context.after(() => agent.destroy())
  const others = anAnswer()
  largeBodies.holdAnswer(others, largeBytesMax - 2 * mebibyte)
  const scope = await claimScope(harness, vendor)
  const { call, end, heard } = beginChunked(scope, agent)
  for (let sent = 0; sent < 4; sent++) call.write('A'.repeat(mebibyte))
  const { response, body } = await heard
  assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1'])
  assert.equal(body.code, 'unavailable')
  await until(() => largeBodies.held() === largeBytesMax - 2 * mebibyte)
  const { socket } = call
  call.write('A'.repeat(mebibyte))
  end()

  const again = beginChunked(scope, agent)
  again.call.write('A'.repeat(mebibyte))
  again.end()
  assert.equal((await again.heard).body.verdict, 'completed')
  assert.equal(again.call.socket, socket)
  others.emit('close')
  await until(() => largeBodies.held() === 0)
})

test('a body that exceeds the room closes the connection if the caller asked for that', async () => {
  const others = anAnswer()
  largeBodies.holdAnswer(others, largeBytesMax)
  const { call, heard } = beginChunked(await claimScope(harness, vendor), false)
  // Together with what came before, this exceeds the extra room for medium bodies, and nothing is left unread.
  call.write('A'.repeat(mebibyte))
  const { response } = await heard
  assert.deepEqual([response.statusCode, response.headers.connection], [503, 'close'])
  others.emit('close')
  await until(() => largeBodies.held() === 0)
})

/** Keeps what arrives of each body until the returned function is called, without reading it. */
function watchChunks(): () => Buffer[] {
  const chunks: Buffer[] = []
  const watch = (request: IncomingMessage) => {
    const push = request.push.bind(request)
    request.push = (chunk: Buffer | null) => {
      if (chunk !== null) chunks.push(chunk)
      return push(chunk)
    }
  }
  harness.app.server.prependListener('request', watch)
  return () => {
    harness.app.server.off('request', watch)
    return chunks
  }
}
const keptBytes = (chunks: readonly Buffer[]) => chunks.reduce((sum, { length }) => sum + length, 0)

test('the memory in which a body has arrived is freed once the body is read', async () => {
  const watched = watchChunks()
  const { call, end, heard } = beginChunked(await claimScope(harness, vendor), false)
  call.write('A'.repeat(mebibyte))
  end()
  assert.equal((await heard).body.verdict, 'completed')
  const chunks = watched()
  assert.ok(chunks.length > 0)
  assert.equal(keptBytes(chunks), 0)
})

test('of a body without a length that is too large, no more is kept than the route accepts', async () => {
  const watched = watchChunks()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${vendor.live}` }
  const call = request({ port, agent: keptAlive, method: 'POST', path: '/v1/tenants', headers })
  call.on('error', () => {})
  call.write('A'.repeat(mebibyte))
  const { response } = await hear(call)
  assert.equal(response.statusCode, 413)
  const chunks = watched()
  assert.ok(chunks.length > 0)
  assert.ok(keptBytes(chunks) <= bodyLimit)
})

test('an announced large body that never arrives blocks no other request', async () => {
  const idle = []
  for (let i = 0; i < 30; i++) {
    const call = request({
      port,
      agent: false,
      method: 'POST',
      path: '/v1/idempotency/complete',
      headers: {
        authorization: `Bearer ${vendor.live}`,
        'content-type': 'application/json',
        'content-length': 8 * mebibyte,
      },
    })
    call.on('error', () => {})
    call.write('{')
    idle.push(call)
  }
  const one = beginLarge(await claimScope(harness, vendor))
  one.end()
  assert.equal((await one.heard).body.verdict, 'completed')
  for (const call of idle) call.destroy()
})

test('a cancelled request gives back its share', async () => {
  const { call, heard } = beginLarge(await claimScope(harness, vendor))
  heard.catch(() => {})
  await until(() => largeBodies.held() > 0)
  call.destroy()
  await until(() => largeBodies.held() === 0)
})

/**
 * Completes a claim with a large response.
 * @returns its scope, and a call that claims it again and gets the response.
 */
async function completeLarge() {
  const held = await claimScope(harness, vendor)
  const { scope_hash, env } = held
  const token = vendor.live
  const body = { ...held, status: 200, body: 'A'.repeat(large) }
  await harness.ask('POST', '/v1/idempotency/complete', { token, body })
  const again = { token, body: { scope_hash, env, fingerprint: '0'.repeat(64) } }
  return { scope_hash, claim: (ask = harness.ask) => ask('POST', '/v1/idempotency/claim', again) }
}

test('a large response takes its share, and gets 503 if there is none', async () => {
  const { claim } = await completeLarge()
  const all = anAnswer()
  largeBodies.holdAnswer(all, largeBytesMax)
  const refused = await claim()
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  all.emit('close')
  const replayed = await claim()
  assert.ok(replayed.body.response.body === 'A'.repeat(large))
  assert.equal(largeBodies.held(), 0)
})

test('a response that is gone when it is read takes its share only once', async () => {
  const { scope_hash, claim } = await completeLarge()
  await harness.query('delete from idempotency_bodies where scope_hash = $1', [
    Buffer.from(scope_hash, 'hex'),
  ])
  const impatient = await harness.startImpatient()
  const { largeBodies } = impatient.deps
  let isAnswered = false
  const claimed = claim(impatient.ask).finally(() => {
    isAnswered = true
  })
  let most = 0
  await until(() => {
    most = Math.max(most, largeBodies.held())
    return isAnswered
  })
  assert.equal((await claimed).status, 503)
  assert.ok(most > 0 && most < large, `${most} bytes were taken`)
  assert.equal(largeBodies.held(), 0)
})

test('every response counts until its reader has taken it, and gets 503 without room', async () => {
  const token = vendor.live
  const meta = { text: 'A'.repeat(60_000) }
  for (let i = 0; i < 200; i++)
    await harness.ask('POST', '/v1/tenants', { token, body: { external_id: `large-${i}`, meta } })
  const url = '/v1/tenants?limit=200'
  const colleague = await makePerson(harness.query, { workspaceId: vendor.workspaceId })
  const list = (token: string) => harness.ask('GET', url, { token })
  const socket = connect(port, '127.0.0.1').pause()
  const asked = `GET ${url} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${token}\r\n\r\n`
  // Seven pages of 4 MiB: the system itself can take one or two for a reader that reads nothing.
  socket.write(asked.repeat(7))
  const areHeld = () => largeBodies.held() > 2 * pageLimits.bytesMax
  await until(areHeld)
  // Once a later page has been read, theirs have been too: only their reader keeps them. The system takes its part when it can.
  assert.equal((await list(colleague.token)).status, 200)
  await until(areHeld)
  assert.ok(largeBodies.held() <= largeBytesMax / 4, 'half of the share of its workspace')
  socket.destroy()
  await until(() => largeBodies.held() === 0)

  const all = anAnswer()
  largeBodies.holdAnswer(all, largeBytesMax)
  const refused = await list(token)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal((await harness.ask('GET', '/v1/tenants?limit=1', { token })).status, 200)
  all.emit('close')
  assert.equal((await list(token)).status, 200)
  assert.equal(largeBodies.held(), 0)
})
