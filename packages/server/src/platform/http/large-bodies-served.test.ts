import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../../test/harness.ts'
import { claimScope, makeVendor } from '../../../test/vendor.ts'
import { openWire } from '../../../test/wire.ts'
import { largeBytesMax } from './large-bodies.ts'
import { socketLimits } from './sockets.ts'

/** Large bodies and answers at a service that listens. */
const mebibyte = 1_048_576
// Bodies are begun here and ended when the test wants it, on however slow a machine.
Object.assign(socketLimits, { bodyMs: 120_000 })
const harness = await startHarness()
const vendor = await makeVendor(harness)
const { port } = await openWire(harness)
const { largeBodies } = harness.deps

/** Stands for somebody else's answer, to take their share. */
const anAnswer = () => new EventEmitter() as unknown as ServerResponse

const large = 6_291_456
/** A large completion but for its end, so that its share is taken for as long as we like. */
function beginLarge(body: { scope_hash: string; env: string; lock_token: string }, token = vendor.live) {
  const [head = '', tail = ''] = JSON.stringify({ ...body, status: 200, body: '#' }).split('#')
  // Without its length: one sender's bodies that say it come one after the other.
  const call = request({
    port,
    agent: false,
    method: 'POST',
    path: '/v1/idempotency/complete',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    },
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
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate()
}

test('a workspace has half of the room for large bodies, all together have the whole, the next is told to come back, and small ones are served', async () => {
  const other = await makeVendor(harness)
  const began = []
  for (const owner of [vendor, other]) {
    for (let i = 0; i < Math.floor(largeBytesMax / 2 / large); i++) {
      began.push(beginLarge(await claimScope(harness, owner), owner.live))
      await until(() => largeBodies.held() > began.length * large)
    }
    const { response } = await beginLarge(await claimScope(harness, owner), owner.live).heard
    assert.equal(response.statusCode, 503)
  }

  const scope = await claimScope(harness, vendor)
  const { response, body } = await beginLarge(scope).heard
  assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1'])
  assert.equal(body.code, 'unavailable')
  const small = await harness.ask('POST', '/v1/idempotency/heartbeat', { token: vendor.live, body: scope })
  assert.equal(small.body.verdict, 'extended', 'a small request is served, and the refused one did nothing')
  const unknown = await beginLarge(scope, 'krsk_live_nobody').heard
  assert.equal(unknown.response.statusCode, 401, 'who may not come in takes nothing')

  // One by one: what is tested is the room for them, and not how fast the store writes them all.
  for (const { end, heard } of began) {
    end()
    assert.equal((await heard).body.verdict, 'completed')
  }
  await until(() => largeBodies.held() === 0)
})

/** A completion that does not say its length, begun. */
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

test('small bodies that do not say their length keep nobody out, however many there are', async () => {
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

test('where the room ends in the middle of a body its sender is told to come back, on a connection that stays', async context => {
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

test('where the room ends and the caller has asked for it, the connection is closed', async () => {
  const others = anAnswer()
  largeBodies.holdAnswer(others, largeBytesMax)
  const { call, heard } = beginChunked(await claimScope(harness, vendor), false)
  // With what came before it is more than what has room beside the large, and nothing is left unread.
  call.write('A'.repeat(mebibyte))
  const { response } = await heard
  assert.deepEqual([response.statusCode, response.headers.connection], [503, 'close'])
  others.emit('close')
  await until(() => largeBodies.held() === 0)
})

test('who says that a large body comes, and sends nothing of it, keeps nobody out', async () => {
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

test('a request that is given up gives back its share', async () => {
  const { call, heard } = beginLarge(await claimScope(harness, vendor))
  heard.catch(() => {})
  await until(() => largeBodies.held() > 0)
  call.destroy()
  await until(() => largeBodies.held() === 0)
})

test('a large answer takes its share, and is told to come back when there is none', async () => {
  const held = await claimScope(harness, vendor)
  const body = 'A'.repeat(large)
  const { scope_hash, env } = held
  await harness.ask('POST', '/v1/idempotency/complete', {
    token: vendor.live,
    body: { ...held, status: 200, body },
  })
  const claim = () =>
    harness.ask('POST', '/v1/idempotency/claim', {
      token: vendor.live,
      body: { scope_hash, env, fingerprint: '0'.repeat(64) },
    })
  const all = anAnswer()
  largeBodies.holdAnswer(all, largeBytesMax)
  const refused = await claim()
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  all.emit('close')
  const replayed = await claim()
  assert.ok(replayed.body.response.body === body)
  assert.equal(largeBodies.held(), 0)
})

test('an answer that is gone when it is to be read takes its share once, however often it is looked for', async () => {
  const held = await claimScope(harness, vendor)
  const { scope_hash, env } = held
  await harness.ask('POST', '/v1/idempotency/complete', {
    token: vendor.live,
    body: { ...held, status: 200, body: 'A'.repeat(large) },
  })
  await harness.query('delete from idempotency_bodies where scope_hash = $1', [
    Buffer.from(scope_hash, 'hex'),
  ])
  let isAnswered = false
  const claimed = harness
    .ask('POST', '/v1/idempotency/claim', {
      token: vendor.live,
      body: { scope_hash, env, fingerprint: '0'.repeat(64) },
    })
    .finally(() => {
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

test('the answer of any route counts as long as its reader has not taken it, and is refused where there is no room', async () => {
  const meta = { text: 'A'.repeat(60_000) }
  for (let i = 0; i < 200; i++)
    await harness.ask('POST', '/v1/tenants', {
      token: vendor.live,
      body: { external_id: `large-${i}`, meta },
    })
  const url = '/v1/tenants?limit=200'
  const socket = connect(port, '127.0.0.1').pause()
  socket.write(`GET ${url} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${vendor.live}\r\n\r\n`)
  await until(() => largeBodies.held() > 200 * 60_000)
  socket.destroy()
  await until(() => largeBodies.held() === 0)

  const all = anAnswer()
  largeBodies.holdAnswer(all, largeBytesMax)
  const refused = await harness.ask('GET', url, { token: vendor.live })
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.equal((await harness.ask('GET', '/v1/tenants?limit=1', { token: vendor.live })).status, 200)
  all.emit('close')
  assert.equal((await harness.ask('GET', url, { token: vendor.live })).status, 200)
  assert.equal(largeBodies.held(), 0)
})
