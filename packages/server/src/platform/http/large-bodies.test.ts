import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../../test/harness.ts'
import { claimScope, makeVendor } from '../../../test/vendor.ts'
import { openWire } from '../../../test/wire.ts'
import { Refusal } from '../refusal.ts'
import { createLargeBodies, largeBytesMax, mediumBytesMax, smallBytesMax } from './large-bodies.ts'

const mebibyte = 1_048_576
const harness = await startHarness()
const vendor = await makeVendor(harness)
const { port } = await openWire(harness)
const { largeBodies } = harness.deps

const anAnswer = () => new EventEmitter() as unknown as ServerResponse
/** A request whose body is still to come. */
const saying = (headers: Record<string, string>) =>
  Object.assign(new PassThrough(), { headers }) as unknown as IncomingMessage & PassThrough
const isUnavailable = (error: unknown) =>
  error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1'

test('what is large takes its share until its request is over, and is refused when there is none left', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const [a, b] = [anAnswer(), anAnswer()]
  bodies.holdAnswer(a, 6 * mebibyte)
  bodies.holdBody(saying({ 'content-length': String(4 * mebibyte) }), b, 8 * mebibyte)
  assert.equal(bodies.held(), 10 * mebibyte)
  assert.throws(() => bodies.holdAnswer(anAnswer(), mebibyte + 1), isUnavailable)
  assert.equal(bodies.held(), 10 * mebibyte, 'what is refused takes nothing')
  bodies.holdAnswer(anAnswer(), smallBytesMax)
  assert.equal(bodies.held(), 10 * mebibyte, 'what is small takes nothing')
  a.emit('close')
  bodies.holdAnswer(anAnswer(), 2 * mebibyte)
  b.emit('close')
  assert.equal(bodies.held(), 2 * mebibyte)
})

test('what is of some size has room beside the large, and is bounded as well', () => {
  const bodies = createLargeBodies()
  for (let i = 0; i < largeBytesMax / mebibyte / 8; i++) bodies.holdAnswer(anAnswer(), 8 * mebibyte)
  for (let i = 0; i < mediumBytesMax / 65_536; i++)
    bodies.holdBody(saying({ 'content-length': '65536' }), anAnswer(), 8 * mebibyte)
  assert.equal(bodies.held(), largeBytesMax + mediumBytesMax)
  const one = saying({ 'content-length': String(smallBytesMax + 1) })
  assert.throws(() => bodies.holdBody(one, anAnswer(), 8 * mebibyte), isUnavailable)
  bodies.holdBody(saying({ 'content-length': String(smallBytesMax) }), anAnswer(), 8 * mebibyte)
})

test('an answer that is asked for again takes no more than the largest of them', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const a = anAnswer()
  for (const [bytes, held] of [
    [2, 2],
    [2, 2],
    [6, 6],
    [3, 6],
    [10, 10],
  ] as const) {
    bodies.holdAnswer(a, bytes * mebibyte)
    assert.equal(bodies.held(), held * mebibyte)
  }
  a.emit('close')
  assert.equal(bodies.held(), 0)
})

test('who has hung up before it was taken takes nothing, since nobody would give it back', () => {
  const bodies = createLargeBodies()
  for (const gone of [{ destroyed: true }, { closed: true }]) {
    const answer = Object.assign(anAnswer(), gone)
    assert.throws(() => bodies.holdAnswer(answer, 2 * mebibyte), Refusal)
  }
  assert.equal(bodies.held(), 0)
})

test('a body takes what it says; a small one, one that is too large, and one where nothing large may come nothing', () => {
  const taken = (headers: Record<string, string>, most = 8 * mebibyte) => {
    const bodies = createLargeBodies()
    bodies.holdBody(saying(headers), anAnswer(), most)
    return bodies.held()
  }
  assert.equal(taken({}), 0)
  assert.equal(taken({ 'content-length': String(smallBytesMax) }), 0)
  assert.equal(taken({ 'content-length': String(smallBytesMax + 1) }), smallBytesMax + 1)
  assert.equal(taken({ 'content-length': String(8 * mebibyte) }), 8 * mebibyte)
  assert.equal(taken({ 'content-length': String(8 * mebibyte + 1) }), 0)
  assert.equal(taken({ 'transfer-encoding': 'chunked' }), 0)
  assert.equal(taken({ 'content-length': String(mebibyte) }, mebibyte), 0)
})

test('a body that does not say its length takes what has arrived, and all of it reaches its reader', async () => {
  const bodies = createLargeBodies()
  const [request, answer] = [saying({ 'transfer-encoding': 'chunked' }), anAnswer()]
  bodies.holdBody(request, answer, 2 * mebibyte)
  request.write('A'.repeat(smallBytesMax))
  await setImmediate()
  assert.equal(request.readableFlowing, false)
  const heard: Buffer[] = []
  request.on('data', chunk => heard.push(chunk))
  request.resume()
  await until(() => heard.length === 1)
  assert.equal(bodies.held(), 0)
  request.write('B')
  await until(() => heard.length === 2)
  assert.equal(bodies.held(), smallBytesMax + 1)
  request.write('C'.repeat(2 * mebibyte))
  await until(() => Buffer.concat(heard).length === smallBytesMax + 1 + 2 * mebibyte)
  assert.ok(bodies.held() <= 2 * mebibyte, 'what is too large is no longer counted')
  answer.emit('close')
  assert.equal(bodies.held(), 0)
})

const large = 6_291_456
/** Half of a large completion, so that its share is taken for as long as we like. */
function beginLarge(body: { scope_hash: string; env: string; lock_token: string }, token = vendor.live) {
  const [head = '', tail = ''] = JSON.stringify({ ...body, status: 200, body: '#' }).split('#')
  const length = head.length + large + tail.length
  const call = request({
    port,
    agent: false,
    method: 'POST',
    path: '/v1/idempotency/complete',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': length,
    },
  })
  call.on('error', () => {})
  call.write(head)
  return { call, end: () => call.end('A'.repeat(large) + tail), heard: hear(call) }
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

test('as many large bodies as there is room for are taken, the next is told to come back, and small ones are served', async () => {
  const began = []
  for (let i = 0; i < Math.floor(largeBytesMax / large); i++)
    began.push(beginLarge(await claimScope(harness, vendor)))
  await until(() => largeBodies.held() + large > largeBytesMax)

  const scope = await claimScope(harness, vendor)
  const { response, body } = await beginLarge(scope).heard
  assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1'])
  assert.equal(body.code, 'unavailable')
  const small = await harness.ask('POST', '/v1/idempotency/heartbeat', { token: vendor.live, body: scope })
  assert.equal(small.body.verdict, 'extended', 'a small request is served, and the refused one did nothing')
  const unknown = await beginLarge(scope, 'krsk_live_nobody').heard
  assert.equal(unknown.response.statusCode, 401, 'who may not come in takes nothing')

  for (const { end } of began) end()
  for (const { heard } of began) assert.equal((await heard).body.verdict, 'completed')
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
