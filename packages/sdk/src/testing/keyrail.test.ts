import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireKey } from '../express.ts'
import type { Keyrail } from '../index.ts'
import { createTestKeyrail, createTestKeyring, type TestKeyringOptions } from '../testing.ts'
import { type RefusalCode, refusals } from '../verify/verdict.ts'
import { embedHandler, withKey } from '../web.ts'

test('a test keyring gives every verdict that production knows', () => {
  const keyring = createTestKeyring()
  const ended = (cause?: 'disabled' | 'suspended' | 'expired' | 'deleted') => {
    const issued = keyring.issue()
    keyring.revoke(issued, cause)
    return keyring.verify(issued.key).code
  }
  const { key } = keyring.issue()
  const lost = (why?: 'stale' | 'not_ready' | 'not_held', presented = key) => {
    keyring.lose(why)
    const { code } = keyring.verify(presented)
    keyring.recover()
    assert.equal(keyring.verify(key).code, 'valid')
    return code
  }
  const unknown = createTestKeyring().issue().key
  const near = keyring.issue({ allowedCidrs: ['203.0.113.0/24'] })
  const got: Record<RefusalCode, string> = {
    missing_key: keyring.verify('').code,
    malformed_key: keyring.verify('kr_live_x').code,
    wrong_env: keyring.verify(keyring.issue({ env: 'test' }).key).code,
    not_ready: lost('not_ready'),
    stale: lost(),
    not_held: lost('not_held', unknown),
    unknown_key: keyring.verify(unknown).code,
    revoked_key: ended(),
    disabled_key: ended('disabled'),
    suspended_tenant: ended('suspended'),
    expired_key: keyring.verify(keyring.issue({ expiresAt: 1 }).key).code,
    too_old: keyring.verify(keyring.issue({ tooOldAt: 1 }).key).code,
    ip_unknown: keyring.verify(near.key).code,
    ip_not_allowed: keyring.verify(near.key, { ip: '198.51.100.1' }).code,
    insufficient_scope: keyring.verify(key, { scopes: ['a'] }).code,
  }
  assert.deepEqual(Object.keys(got), Object.keys(refusals))
  for (const [code, verdict] of Object.entries(got)) assert.equal(verdict, code)
  assert.deepEqual([ended('deleted'), ended('expired')], ['revoked_key', 'expired_key'])
  assert.throws(
    () => createTestKeyring({ name: true } as object),
    /has no option "name": it is called "names"/,
  )
})

test('a test keyring has the ids, names and meta in its verdicts that production has', () => {
  const given = {
    keyName: 'ci',
    tenantName: 'Acme',
    externalId: 'acme',
    meta: { a: 1 },
    tenantMeta: { b: 2 },
  }
  const verdictOf = (options: TestKeyringOptions) => {
    const keyring = createTestKeyring(options)
    const verdict = keyring.verify(keyring.issue(given).key)
    assert.ok(verdict.valid)
    const { keyName, tenantName, externalId, meta, tenantMeta } = verdict
    return { keyName, tenantName, externalId, meta, tenantMeta }
  }
  const unnamed = { keyName: undefined, tenantName: undefined, tenantMeta: undefined }
  const { meta, externalId } = given
  assert.deepEqual(verdictOf({}), { ...unnamed, externalId, meta })
  assert.deepEqual(verdictOf({ externalId: false }), { ...unnamed, externalId: undefined, meta })
  assert.deepEqual(verdictOf({ keyMeta: false }), { ...unnamed, externalId, meta: undefined })
  assert.deepEqual(verdictOf({ names: true }), { ...given, tenantMeta: undefined })
  assert.deepEqual(verdictOf({ meta: true }), { ...given, keyName: undefined, tenantName: undefined })
  assert.deepEqual(verdictOf({ labels: true }), given)
})

test('a test Keyrail is a Keyrail: all its parts work, lose the service and close together', async () => {
  const minute = { id: 'minute', limit: 2, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }
  const test = createTestKeyrail({ keys: { names: true } })
  const keyrail: Keyrail = test
  await keyrail.ready()
  const { key, keyId } = test.issue({ rateLimits: [minute], keyName: 'ci' })
  const handle = withKey(keyrail, (_, { apiKey }) => Response.json(apiKey.keyName), {
    limiter: keyrail,
    usage: keyrail,
    idempotency: keyrail,
  })
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'a' }
    const { status } = await handle(new Request('http://localhost/', { method: 'POST', headers }))
    return status
  }
  assert.deepEqual([await ask(), await ask(), await ask()], [200, 200, 429])
  test.advance(60_000)
  assert.equal(await ask(), 200)
  test.lose()
  assert.deepEqual([await ask(), keyrail.health().ok], [503, false])
  test.recover()
  assert.deepEqual(keyrail.health(), {
    ok: true,
    lagMs: 0,
    source: 'service',
    lastError: null,
    holdSeconds: 0,
  })
  await keyrail.close()
  assert.deepEqual([await test.usage.reported(), keyrail.health().lastError], [{ [keyId]: 3 }, 'closed'])
  assert.equal(await ask(), 503)
  assert.throws(() => requireKey(test, { colour: 1 } as object), /has no option "colour"/)
})

test('a test Keyrail mints tokens for pages, and its admin has the answers of the test', async () => {
  const project = { object: 'project', id: 'p' } as never
  const one = createTestKeyrail()
  const own = createTestKeyrail({ admin: { projects: { get: async () => project } as never } })
  assert.equal(await own.admin.projects.get('p'), project)
  await assert.rejects(one.admin.workspace.get(), { code: 'not_in_tests' })
  const answer = await embedHandler(one, () => ({ externalId: 'acme' }))(
    new Request('http://localhost/', { method: 'POST' }),
  )
  const { token, expires_at } = (await answer.json()) as { token: string; expires_at: string }
  assert.equal(token, 'test-token-of-acme')
  assert.ok(Date.parse(expires_at) > Date.now())
  assert.throws(() => createTestKeyrail({ key: {} } as object), /createTestKeyrail has no option "key"/)
})
