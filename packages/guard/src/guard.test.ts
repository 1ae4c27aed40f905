import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ask, identityIn, startGuard } from '../test/stage.ts'

const minute = { id: 'minute', limit: 2, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const
const nobody = ['', '', '', '']

test('a valid key gets 200 and whose it is, by either header and any method', async () => {
  const { keyrail, ask } = await startGuard()
  const { key, keyId, tenantId } = keyrail.issue({ externalId: 'org_17', scopes: ['a:read', 'b c'] })
  const whose = [tenantId, 'org_17', keyId, 'a:read b%20c']
  for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }])
    for (const method of ['GET', 'POST', 'HEAD', 'DELETE', 'OPTIONS']) {
      const heard = await ask('/auth', { method, headers })
      assert.deepEqual([heard.status, identityIn(heard)], [200, whose], method)
      assert.equal(heard.headers['cache-control'], 'no-store')
    }
})

test('every refusal has empty headers of identity, a problem, and the problem as a header', async () => {
  const { keyrail, ask, withKey } = await startGuard()
  const { key } = keyrail.issue({ scopes: ['read'] })
  const revoked = keyrail.issue()
  keyrail.keys.revoke(revoked)
  for (const [heard, status, code] of [
    [await ask('/auth'), 401, 'missing_key'],
    [await withKey('/auth', revoked.key), 401, 'revoked_key'],
    [await withKey('/auth', 'kr_live_é'), 401, 'malformed_key'],
    [await withKey('/auth?scope=wr%C3%AEte', key), 403, 'insufficient_scope'],
    [await withKey('/auth?scopes=read', key), 400, 'validation_failed'],
    [await withKey('/nowhere', key), 404, 'not_found'],
    [await ask('/verify'), 405, 'method_not_allowed'],
  ] as const) {
    assert.deepEqual([heard.status, heard.body.code, identityIn(heard)], [status, code, nobody])
    assert.equal(heard.headers['content-type'], 'application/problem+json')
    assert.deepEqual(JSON.parse(String(heard.headers['x-keyrail-problem'])), heard.body)
  }
  assert.equal((await ask('/auth')).headers['www-authenticate'], 'Bearer')
})

test('the query demands scopes and cost, and a header of the client demands nothing', async () => {
  const { keyrail, withKey } = await startGuard()
  const { key } = keyrail.issue({ scopes: ['read'], rateLimits: [minute] })
  const passed = await withKey('/auth?scope=read&cost=2', key, {
    'x-cost': '0',
    'x-original-uri': '/auth?cost=0',
  })
  assert.deepEqual([passed.status, passed.headers.ratelimit], [200, '"minute";r=0;t=60'])
  const denied = await withKey('/auth', key)
  assert.deepEqual([denied.status, denied.body.code], [429, 'rate_limited'])
  assert.equal(denied.headers['retry-after'], '60')
  assert.equal(denied.headers['ratelimit-policy'], '"minute";q=2;w=60')
  assert.equal((await withKey('/auth?scope=read&scope=write', key)).status, 403)
  for (const query of ['cost=1001', 'cost=-1', 'cost=1&cost=2', 'scope=', 'cots=1'])
    assert.equal((await withKey(`/auth?${query}`, key)).status, 400, query)
})

test('what a header cannot hold is encoded, and decodes to the same text', async () => {
  const { keyrail, withKey } = await startGuard()
  const odd = 'Zürich 100%\r\nx-keyrail-key: forged \u{1F511}'
  const { key } = keyrail.issue({ externalId: odd })
  const { headers } = await withKey('/auth', key)
  assert.match(String(headers['x-keyrail-external-id']), /^[\x21-\x7e]+$/)
  assert.equal(decodeURIComponent(String(headers['x-keyrail-external-id'])), odd)
})

test('networks are judged by the header that the proxy overwrites, and by no other', async () => {
  const allowedCidrs = ['203.0.113.0/24']
  const from = (ip: string | string[]) => ({ 'x-original-ip': ip })
  const { keyrail, withKey } = await startGuard({ GUARD_IP_HEADER: 'X-Original-IP' })
  const { key } = keyrail.issue({ allowedCidrs })
  for (const path of ['/auth', '/ext-authz/orders']) {
    assert.equal((await withKey(path, key, from('203.0.113.7'))).status, 200)
    for (const [headers, code] of [
      [from('198.51.100.1'), 'ip_not_allowed'],
      [from(['203.0.113.7', '203.0.113.8']), 'ip_unknown'],
      [from('203.0.113.7, 203.0.113.8'), 'ip_unknown'],
      [from(''), 'ip_unknown'],
      [from('unix:'), 'ip_unknown'],
      [{ 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' }, 'ip_unknown'],
    ] as const) {
      const { status, body } = await withKey(path, key, headers)
      assert.deepEqual([status, body.code], [403, code])
    }
  }
  const without = await startGuard()
  const other = without.keyrail.issue({ allowedCidrs })
  assert.equal((await without.withKey('/auth', other.key, from('203.0.113.7'))).body.code, 'ip_unknown')
})

test('requests are counted, and refusals of keys with limits are not', async () => {
  const { keyrail, withKey } = await startGuard()
  const { key, keyId } = keyrail.issue({ rateLimits: [minute] })
  for (let i = 0; i < 4; i += 1) await withKey('/auth', key)
  assert.deepEqual(await keyrail.usage.reported(), { [keyId]: 2 })
})

test('without the service limited keys get 503, and after the time of the keys all do', async () => {
  const { keyrail, ask, withKey } = await startGuard()
  const { key } = keyrail.issue({ rateLimits: [minute] })
  const free = keyrail.issue()
  keyrail.limiter.lose()
  assert.deepEqual((await withKey('/auth', key)).body.code, 'limits_unavailable')
  assert.equal((await withKey('/auth', free.key)).status, 200)
  assert.equal((await ask('/readyz')).status, 200)
  keyrail.lose()
  const stale = await withKey('/auth', free.key)
  assert.deepEqual([stale.status, stale.body.code, stale.headers['retry-after']], [503, 'stale', '5'])
  assert.deepEqual([(await ask('/readyz')).status, (await ask('/healthz')).status], [503, 200])
})

test('limits and counts can be turned off', async () => {
  const { keyrail, withKey } = await startGuard({ GUARD_LIMITS: 'off', GUARD_USAGE: 'off' })
  const { key } = keyrail.issue({ rateLimits: [{ ...minute, limit: 1 }] })
  for (let i = 0; i < 3; i += 1) assert.equal((await withKey('/auth', key)).status, 200)
  assert.deepEqual(await keyrail.usage.reported(), {})
})

test('with a secret nothing but health is answered to who does not send it', async () => {
  const secret = 'a'.repeat(32)
  const { keyrail, ask, withKey } = await startGuard({ GUARD_SECRET: secret })
  const { key } = keyrail.issue()
  for (const path of ['/auth', '/verify', '/metrics', '/ext-authz/', '/nowhere'])
    for (const given of [undefined, '', 'b'.repeat(32), `${secret}a`]) {
      const heard = await withKey(path, key, given === undefined ? {} : { 'x-keyrail-guard-secret': given })
      assert.deepEqual([heard.status, heard.body.code], [403, 'wrong_guard_secret'], path)
    }
  assert.equal((await withKey('/auth', key, { 'X-Keyrail-Guard-Secret': secret })).status, 200)
  assert.equal((await ask('/healthz')).status, 200)
})

test('a body is ignored, and a long one costs its connection', async () => {
  const { keyrail, ask } = await startGuard()
  const { key } = keyrail.issue()
  const headers = { authorization: `Bearer ${key}` }
  const short = await ask('/auth', {
    method: 'POST',
    headers: { ...headers, connection: 'keep-alive' },
    body: 'x',
  })
  assert.deepEqual([short.status, short.headers.connection], [200, 'keep-alive'])
  const announced = { ...headers, 'content-length': 10_000_000 }
  const long = await ask('/auth', { method: 'POST', headers: announced, body: 'x'.repeat(10_000_000) }).catch(
    error => error.code,
  )
  assert.ok(typeof long === 'string' || long.headers.connection === 'close')
})

test('metrics count verdicts, and hold no id', async () => {
  const { keyrail, ask, withKey } = await startGuard()
  const { key, keyId } = keyrail.issue()
  await withKey('/auth', key)
  await withKey('/auth', key)
  await ask('/auth')
  const { body, headers } = await ask('/metrics')
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  assert.match(body, /^keyrail_guard_verdicts_total\{code="valid"\} 2$/m)
  assert.match(body, /^keyrail_guard_verdicts_total\{code="missing_key"\} 1$/m)
  assert.match(body, /^keyrail_guard_serving 1$/m)
  assert.match(body, /^keyrail_guard_connections 1$/m)
  assert.ok(!body.includes(keyId))
})

test('a guard that stops answers what is in flight and takes nothing more', async () => {
  const { guard, keyrail, url, withKey } = await startGuard()
  const { key } = keyrail.issue()
  guard.drain()
  const heard = await withKey('/auth', key)
  assert.deepEqual([heard.status, heard.headers.connection], [200, 'close'])
  assert.equal((await ask(url, '/readyz')).body.status, 'stopping')
  await guard.close(1_000)
  await assert.rejects(ask(url, '/auth'), { code: 'ECONNREFUSED' })
})

/** What comes back for these bytes, until the guard closes. */
async function answerTo(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(bytes)
  return await text(socket)
}

test('headers are all read, and too many bytes of them end the connection', async () => {
  const { url } = await startGuard({ GUARD_SECRET: 'a'.repeat(32) })
  const fill = Array.from({ length: 2_200 }, (_, at) => `${at}:\r\n`).join('')
  const secret = `x-keyrail-guard-secret: ${'a'.repeat(32)}\r\n`
  const many = await answerTo(
    url,
    `GET /auth HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${fill}${secret}\r\n`,
  )
  assert.match(many, /^HTTP\/1\.1 401 /)
  const large = await answerTo(url, `GET /healthz HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(40_000)}\r\n\r\n`)
  assert.match(large, /^HTTP\/1\.1 431 /)
})

test('connections beyond the bound are closed, and the others are answered', async () => {
  const { guard, url, ask } = await startGuard({ GUARD_MAX_CONNECTIONS: '2' })
  const port = Number(new URL(url).port)
  const idle = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  for (const socket of idle) await once(socket, 'connect')
  const beyond = connect(port, '127.0.0.1')
  beyond.on('error', () => {})
  await once(beyond, 'close')
  idle[0]?.end()
  await once(idle[0] ?? guard.server, 'close')
  assert.equal((await ask('/healthz')).status, 200)
  idle[1]?.destroy()
})

test('requests that a proxy does not send are refused', async () => {
  const { url } = await startGuard()
  for (const [line, headers, status] of [
    ['CONNECT /auth HTTP/1.1', '', ''],
    ['GET http://api.example.com/auth HTTP/1.1', '', '404'],
    ['GET /auth HTTP/1.1', 'expect: nothing\r\n', '417'],
    ['POST /auth HTTP/1.1', 'content-length: 3\r\ntransfer-encoding: chunked\r\n', '400'],
    ['GET /auth HTTP/1.1', 'upgrade: websocket\r\n', '401'],
    ['GET /auth HTTP/1.0', '', '401'],
  ] as const) {
    const heard = await answerTo(url, `${line}\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`)
    assert.equal(/^HTTP\/1\.1 (\d+)/.exec(heard)?.[1] ?? '', status, line)
  }
})
