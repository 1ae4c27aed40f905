import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Harness, startHarness } from '../../../test/harness.ts'
import { openWire } from '../../../test/wire.ts'
import { Refusal } from '../refusal.ts'

// biome-ignore lint/suspicious/noExplicitAny: a line of the log, read by its assertions.
const linesOf = ({ logged }: Harness): any[] =>
  logged.map(line => JSON.parse(line)).filter(({ route }) => route !== undefined)

test('a line names the address and the user agent of who asked, on refusals too', async () => {
  const harness = await startHarness()
  await harness.app.inject({ url: '/healthz', headers: { 'user-agent': 'probe/1.0' } })
  await harness.app.inject({ url: '/v1/keys', headers: { 'user-agent': 'thief/1.0' } })
  await harness.app.inject({ url: '/nowhere', headers: { 'user-agent': 'x\u009b31m'.repeat(500) } })
  const told = linesOf(harness).map(({ status, ip, user_agent }) => [status, ip, user_agent])
  assert.deepEqual(told.slice(0, 2), [
    [200, '127.0.0.1', 'probe/1.0'],
    [401, '127.0.0.1', 'thief/1.0'],
  ])
  assert.equal(told[2]?.[2].length, 200)
  assert.doesNotMatch(harness.logged.join(''), /[\u0080-\u009f]/)
})

test('the address is the one before as many proxies as are trusted, and no text of a forger', async () => {
  const trusting = await startHarness({ trustProxyHops: 1 })
  const from = (forwarded: string) =>
    trusting.app.inject({ url: '/healthz', headers: { 'x-forwarded-for': forwarded } })
  await from('198.51.100.7, 203.0.113.9')
  await from(`<script>${'x'.repeat(500)}`)
  const [first, second] = linesOf(trusting).map(({ ip }) => ip)
  assert.equal(first, '203.0.113.9')
  assert.match(second, /^script\w{58}$/)
  const trustsNobody = await startHarness()
  await trustsNobody.app.inject({ url: '/healthz', headers: { 'x-forwarded-for': '203.0.113.9' } })
  assert.deepEqual(
    linesOf(trustsNobody).map(({ ip }) => ip),
    ['127.0.0.1'],
  )
})

test('requests of one connection, which a proxy shares among its clients, are each logged as of their own', async () => {
  const harness = await startHarness({ trustProxyHops: 1 })
  const wire = await openWire(harness)
  const clients = [
    ['198.51.100.7', 'one/1.0'],
    ['198.51.100.7', 'one/1.0'],
    ['198.51.100.7', 'two/1.0'],
    ['203.0.113.9', 'two/1.0'],
  ]
  const heads = clients.map(
    ([ip, agent], i) =>
      `GET /healthz HTTP/1.1\r\nhost: here\r\nx-forwarded-for: ${ip}\r\nuser-agent: ${agent}\r\n` +
      `connection: ${i === 3 ? 'close' : 'keep-alive'}\r\n\r\n`,
  )
  assert.equal((await wire.send(heads.join(''))).length, 4)
  assert.deepEqual(
    linesOf(harness).map(({ ip, user_agent }) => [ip, user_agent]),
    clients,
  )
})

test('a caller who hangs up before the answer is logged all the same, with the address', async () => {
  const harness = await startHarness()
  const { app } = harness
  const asked = Promise.withResolvers<void>()
  const hungUp = Promise.withResolvers<void>()
  app.addHook('onRequest', async (_request, reply) => {
    reply.raw.once('close', hungUp.resolve)
    asked.resolve()
    await hungUp.promise
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /v1/keys HTTP/1.1\r\nhost: x\r\nuser-agent: gone/1\r\n\r\n')
  await asked.promise
  socket.destroy()
  await hungUp.promise
  for (let i = 0; i < 500 && linesOf(harness).length === 0; i++) await setTimeout(10)
  assert.deepEqual(
    linesOf(harness).map(({ ip, user_agent, route }) => [ip, user_agent, route]),
    [['127.0.0.1', 'gone/1', '/v1/keys']],
  )
})

test('who is turned away leaves a line without a stack; a store that does not answer leaves an error', async () => {
  const harness = await startHarness()
  const { app, deps } = harness
  const turnedAway = new Refusal('unavailable', 'Too many wait.', { headers: { 'retry-after': '1' } })
  for (const refusal of [turnedAway, new Refusal('unavailable')]) {
    deps.auditHeads.verifierKey = () => Promise.reject(refusal)
    await app.inject({ url: '/.well-known/audit-checkpoint-key' })
  }
  assert.deepEqual(
    linesOf(harness).map(({ level, status, err }) => [level, status, err === undefined]),
    [
      ['warn', 503, true],
      ['error', 503, false],
    ],
  )
})
