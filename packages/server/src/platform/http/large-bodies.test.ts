import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../../test/harness.ts'
import { claimScope, makeVendor } from '../../../test/vendor.ts'
import { openWire } from '../../../test/wire.ts'
import { Refusal } from '../refusal.ts'
import { createLargeBodies, largeBytesMax } from './large-bodies.ts'

const mebibyte = 1_048_576
const harness = await startHarness()
const vendor = await makeVendor(harness)
const { port } = await openWire(harness)
const { largeBodies } = harness.deps

const anAnswer = () => new EventEmitter() as unknown as ServerResponse
const saying = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage
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
  bodies.holdAnswer(anAnswer(), mebibyte)
  a.emit('close')
  bodies.holdAnswer(anAnswer(), 2 * mebibyte)
  b.emit('close')
  assert.equal(bodies.held(), 2 * mebibyte)
})

test('who has hung up before it was taken takes nothing, since nobody would give it back', () => {
  const bodies = createLargeBodies()
  for (const gone of [{ destroyed: true }, { closed: true }]) {
    const answer = Object.assign(anAnswer(), gone)
    assert.throws(() => bodies.holdAnswer(answer, 2 * mebibyte), Refusal)
  }
  assert.equal(bodies.held(), 0)
})

test('a body takes what it says, or what it may have when it does not say; a small one and one that is too large nothing', () => {
  const taken = (headers: Record<string, string>, most = 8 * mebibyte) => {
    const bodies = createLargeBodies()
    bodies.holdBody(saying(headers), anAnswer(), most)
    return bodies.held()
  }
  assert.equal(taken({}), 0)
  assert.equal(taken({ 'content-length': String(mebibyte) }), 0)
  assert.equal(taken({ 'content-length': String(mebibyte + 1) }), mebibyte + 1)
  assert.equal(taken({ 'content-length': String(8 * mebibyte + 1) }), 0)
  assert.equal(taken({ 'transfer-encoding': 'chunked' }), 8 * mebibyte)
  assert.equal(taken({ 'transfer-encoding': 'chunked' }, mebibyte), 0)
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
