import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyVerify } from '../../contract/src/verify.ts'
import { readAddress } from '../../server/src/platform/network/client-address.ts'
import { startGuard } from '../test/stage.ts'

const minute = { id: 'minute', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' } as const
const { keyrail, ask } = await startGuard()

const verify = (body: unknown) =>
  ask('/verify', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })

test('a verdict has whose key it is, its limits and the headers for the client', async () => {
  const { key, keyId, tenantId } = keyrail.issue({
    externalId: 'org_17',
    scopes: ['read'],
    meta: { plan: 'gold' },
    rateLimits: [minute],
    expiresAt: Date.UTC(2100, 0, 1),
  })
  assert.deepEqual((await verify({ key, scopes: ['read'], ip: '203.0.113.9' })).body, {
    valid: true,
    code: 'valid',
    key: {
      id: keyId,
      tenant_id: tenantId,
      external_id: 'org_17',
      env: 'live',
      scopes: ['read'],
      meta: { plan: 'gold' },
      expires_at: '2100-01-01T00:00:00.000Z',
    },
    limits: [{ id: 'minute', remaining: 0, reset_ms: 60_000 }],
    headers: { 'ratelimit-policy': '"minute";q=1;w=60', ratelimit: '"minute";r=0;t=60' },
  })
  const { status, body } = await verify({ key })
  assert.deepEqual([status, body.valid, body.code, body.key], [200, false, 'rate_limited', null])
  assert.equal(body.headers['retry-after'], '60')
  assert.equal((await verify({ key, scopes: ['write'] })).body.code, 'insufficient_scope')
})

test('networks are judged by the member ip', async () => {
  const { key } = keyrail.issue({ allowedCidrs: ['203.0.113.0/24', '2001:db8::/32'] })
  for (const [ip, code] of [
    [undefined, 'ip_unknown'],
    ['198.51.100.1', 'ip_not_allowed'],
    ['203.0.113.7', 'valid'],
    ['::ffff:203.0.113.7', 'valid'],
    ['2001:DB8::1', 'valid'],
  ] as const)
    assert.equal((await verify({ key, ip })).body.code, code)
})

test('the member ip is any text that the service reads as an address, or null', async () => {
  const { key } = keyrail.issue({ allowedCidrs: ['203.0.113.0/24', '2001:db8::/32', 'fe80::/10'] })
  assert.equal((await verify({ key, ip: null })).body.code, 'ip_unknown')
  const addresses = ['203.0.113.7', '198.51.100.1', '::ffff:203.0.113.7', '2001:DB8::1', 'fe80::1%eth0']
  const others = [
    '',
    'localhost',
    '203.0.113',
    '010.0.0.1',
    '203.0.113.7%eth0',
    '2001:db8::/32',
    '%',
    '1:443',
  ]
  const texts = [...addresses, ...others].flatMap(text => [
    text,
    ` ${text}\t`,
    `${text}:443`,
    `[${text}]`,
    `[${text}]:443`,
    `[${text}]:`,
    `[[${text}]]`,
  ])
  for (const ip of [...texts, 'fe80::1%', `fe80::1%${'x'.repeat(50)}`]) {
    const address = readAddress(ip)
    const { status, body } = await verify({ key, ip })
    assert.equal(status, address === null ? 400 : 200, ip)
    if (address === null) continue
    assert.equal(body.code, address === '198.51.100.1' ? 'ip_not_allowed' : 'valid', ip)
  }
  assert.equal((await verify({ key, ip: `fe80::1%${'x'.repeat(60)}` })).status, 400)
})

/** The longest text of a customer that the service judges. */
const { maxLength = 0 } = KeyVerify.properties.key as { maxLength?: number }

test('every verdict is 200, up to the longest text that the service takes', async () => {
  for (const [key, code] of [
    ['', 'missing_key'],
    ['x', 'malformed_key'],
    ['x'.repeat(maxLength), 'malformed_key'],
    // A character is a code point, as for the service.
    ['\u{1f511}'.repeat(15_000), 'malformed_key'],
  ] as const) {
    const { status, body } = await verify({ key })
    assert.deepEqual([status, body.valid, body.code], [200, false, code])
  }
})

test('a wrong body gets 400 that names the member', async () => {
  const { key } = keyrail.issue()
  for (const [body, path] of [
    ['{', 'body'],
    ['[]', 'body'],
    ['null', 'body'],
    [{}, 'key'],
    [{ key: 1 }, 'key'],
    [{ key: 'x'.repeat(maxLength + 1) }, 'key'],
    [{ key, scopes: 'read' }, 'scopes'],
    [{ key, scopes: ['read', 7] }, 'scopes.1'],
    [{ key, cost: 1.5 }, 'cost'],
    [{ key, cost: 1_001 }, 'cost'],
    [{ key, ip: '1.2.3' }, 'ip'],
    [{ key, ip: 7 }, 'ip'],
    [{ key, scope: 'read' }, 'scope'],
  ] as const) {
    const { status, body: answer } = await verify(body)
    assert.deepEqual([status, answer.code, answer.errors?.[0].path], [400, 'validation_failed', path])
  }
  const large = JSON.stringify({ key: 'x'.repeat(70_000) })
  for (const headers of [{ 'content-length': large.length }, { 'transfer-encoding': 'chunked' }])
    assert.equal((await ask('/verify', { method: 'POST', headers, body: large })).status, 413)
})
