import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { type Harness, startHarness } from '../../../test/harness.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { openWire } from '../../../test/wire.ts'
import { readStoredNetworks } from '../network/cidr.ts'
import type { TrustedProxies } from '../network/trusted-proxies.ts'
import { toggleDebug } from '../observe/log.ts'
import { ClientGone, NoCapacity, Refusal, tooManyInFlight } from '../refusal.ts'

// biome-ignore lint/suspicious/noExplicitAny: a log line, checked by the assertions of its test.
const linesOf = ({ logged }: Harness): any[] =>
  logged.map(line => JSON.parse(line)).filter(({ route }) => route !== undefined)

test('a log line has the caller’s address and user agent, on refusals too', async () => {
  const harness = await startHarness()
  await harness.app.inject({ url: '/.well-known/jwks.json', headers: { 'user-agent': 'probe/1.0' } })
  await harness.app.inject({ url: '/v1/keys', headers: { 'user-agent': 'thief/1.0' } })
  await harness.app.inject({ url: '/nowhere', headers: { 'user-agent': 'x\u009b31m'.repeat(500) } })
  const logged = linesOf(harness).map(({ status, ip, user_agent }) => [status, ip, user_agent])
  assert.deepEqual(logged.slice(0, 2), [
    [200, '127.0.0.1', 'probe/1.0'],
    [401, '127.0.0.1', 'thief/1.0'],
  ])
  assert.equal(logged[2]?.[2].length, 200)
  assert.doesNotMatch(harness.logged.join(''), /[\u0080-\u009f]/)
})

test('the address is the one before the trusted proxies, and never forged text', async () => {
  const trusting = await startHarness({ trustProxy: 1 })
  const from = (forwarded: string) =>
    trusting.app.inject({ url: '/.well-known/jwks.json', headers: { 'x-forwarded-for': forwarded } })
  await from('198.51.100.7, 203.0.113.9')
  await from('198.51.100.7, [2001:DB8::9]:51234')
  await from(`<script>${'x'.repeat(500)}`)
  assert.deepEqual(
    linesOf(trusting).map(({ ip }) => ip),
    ['203.0.113.9', '2001:db8::9', '127.0.0.1'],
  )
  const trustsNobody = await startHarness()
  await trustsNobody.app.inject({
    url: '/.well-known/jwks.json',
    headers: { 'x-forwarded-for': '203.0.113.9' },
  })
  assert.deepEqual(
    linesOf(trustsNobody).map(({ ip }) => ip),
    ['127.0.0.1'],
  )
})

test('forwarded addresses that are not trusted are logged once, and trusted ones never', async () => {
  const warnings = async (trustProxy: TrustedProxies) => {
    const harness = await startHarness({ trustProxy })
    for (const ip of ['203.0.113.9', '203.0.113.10'])
      await harness.app.inject({ url: '/.well-known/jwks.json', headers: { 'x-forwarded-for': ip } })
    return harness.logged.filter(line => line.includes('SERVICE_TRUST_PROXY')).length
  }
  assert.equal(await warnings(0), 1)
  assert.equal(await warnings(1), 0)
  assert.equal(await warnings(readStoredNetworks(['10.42.7.0/24'])), 1, 'the peer is in no trusted network')
  assert.equal(await warnings(readStoredNetworks(['10.42.7.0/24', '127.0.0.1'])), 0)
})

test('requests that share a proxy’s connection are each logged with their own client', async () => {
  const harness = await startHarness({ trustProxy: 1 })
  const wire = await openWire(harness)
  const clients = [
    ['198.51.100.7', 'one/1.0'],
    ['198.51.100.7', 'one/1.0'],
    ['198.51.100.7', 'two/1.0'],
    ['203.0.113.9', 'two/1.0'],
  ]
  const heads = clients.map(
    ([ip, agent], i) =>
      `GET /.well-known/jwks.json HTTP/1.1\r\nhost: here\r\nx-forwarded-for: ${ip}\r\nuser-agent: ${agent}\r\n` +
      `connection: ${i === 3 ? 'close' : 'keep-alive'}\r\n\r\n`,
  )
  assert.equal((await wire.send(heads.join(''))).length, 4)
  assert.deepEqual(
    linesOf(harness).map(({ ip, user_agent }) => [ip, user_agent]),
    clients,
  )
})

test('a caller that hangs up before the response is still logged, with the address', async () => {
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
  await until(() => linesOf(harness).length > 0)
  assert.deepEqual(
    linesOf(harness).map(({ ip, user_agent, route }) => [ip, user_agent, route]),
    [['127.0.0.1', 'gone/1', '/v1/keys']],
  )
})

test('a 503 for lack of room logs no stack; a database that does not answer logs an error', async () => {
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

test('answers to probes are logged at debug, and their failures as any other', async () => {
  const harness = await startHarness()
  const probes = ['/healthz', '/readyz', '/v1/healthz', '/v1/readyz']
  const levels = () => linesOf(harness).map(({ route, level }) => `${route} ${level}`)
  for (const url of probes) assert.equal((await harness.ask('GET', url)).status, 200)
  assert.deepEqual(levels(), [])
  toggleDebug(harness.deps.log)
  for (const url of probes) await harness.ask('GET', url)
  assert.deepEqual(
    levels(),
    probes.map(url => `${url} debug`),
  )
  toggleDebug(harness.deps.log)
  await harness.ask('POST', '/healthz')
  assert.equal(linesOf(harness).at(-1)?.status, 405)
})

test('each request is counted by what became of it, from 0', async () => {
  const harness = await startHarness()
  const { app, deps } = harness
  const counts = async () =>
    Object.fromEntries(
      [...(await deps.metrics.text()).matchAll(/^keyrail_requests_total\{outcome="(\w+)"\} (\d+)$/gm)].map(
        ([, outcome, count]) => [outcome, Number(count)],
      ),
    )
  assert.deepEqual(await counts(), { answered: 0, failed: 0, turned_away: 0, unavailable: 0, gone: 0 })
  const errors = [
    new Error('a fault'),
    new NoCapacity({ 'retry-after': '1' }),
    new Refusal('unavailable'),
    new ClientGone(),
    tooManyInFlight(),
  ]
  for (const error of errors) {
    deps.auditHeads.verifierKey = () => Promise.reject(error)
    await app.inject({ url: '/.well-known/audit-checkpoint-key' })
  }
  assert.deepEqual(await counts(), { answered: 1, failed: 1, turned_away: 1, unavailable: 1, gone: 1 })
})

test('a sample of hot answers is logged at info, the rest at debug, refusals always', async () => {
  const harness = await startHarness({ logSample: 3 })
  const vendor = await makeVendor(harness)
  const poll = (token: string) =>
    harness.ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=1`, { token })
  const count = () => {
    const lines = linesOf(harness).filter(({ route }) => route === '/v1/policy/delta')
    return ['info', 'debug'].map(level => lines.filter(line => line.level === level).length)
  }
  for (let i = 0; i < 7; i++) await poll(vendor.live)
  assert.deepEqual(count(), [3, 0])
  assert.equal(linesOf(harness).find(({ route }) => route === '/v1/policy/delta')?.sample, 3)
  await poll('krsk_live_nobody')
  assert.deepEqual(count(), [4, 0])
  // What is not hot is logged whole.
  for (let i = 0; i < 3; i++) await harness.ask('GET', '/v1/keys', { token: vendor.live })
  assert.equal(linesOf(harness).filter(({ route }) => route === '/v1/keys').length, 3)
  toggleDebug(harness.deps.log)
  for (let i = 0; i < 3; i++) await poll(vendor.live)
  assert.deepEqual(count(), [5, 2])
  toggleDebug(harness.deps.log)
  for (let i = 0; i < 3; i++) await poll(vendor.live)
  assert.deepEqual(count(), [6, 2])
  const levels = harness.logged.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'log level changed')
  assert.deepEqual(
    levels.map(({ log_level }) => log_level),
    ['debug', 'info'],
  )
})

test('the trace of a caller is in the line of its request, and a malformed one is not', async () => {
  const harness = await startHarness()
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  for (const traceparent of [`00-${traceId}-00f067aa0ba902b7-01`, 'x'.repeat(100)])
    await harness.app.inject({ url: '/.well-known/jwks.json', headers: { traceparent } })
  assert.deepEqual(
    linesOf(harness).map(({ trace_id, parent_span_id }) => [trace_id, parent_span_id]),
    [
      [traceId, '00f067aa0ba902b7'],
      [undefined, undefined],
    ],
  )
})
