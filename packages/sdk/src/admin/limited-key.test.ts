import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKeyrail } from '../../test/service.ts'
import { createAdmin } from '../admin.ts'
import { createKeyring } from '../keyring/keyring.ts'
import { createLimiter } from '../limits/limit.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { SecretKeyCreate } from './types.ts'

/** The SDK with limited secret keys, and its errors if a key lacks a permission. */
const { vendor, connection, settings, patient, issue } = await startKeyrail()
const admin = createAdmin(connection)
const keyOf = async (limits: Partial<SecretKeyCreate>) =>
  (await admin.secretKeys.create({ env: 'live', ...limits })).key ?? ''
const node = await keyOf({ preset: 'node', projectIds: [settings.project] })

test('a key of the preset node suffices for a server', async () => {
  const { key } = await issue({
    rate_limits: [{ id: 'a', limit: 1, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }],
  })
  await using keyring = createKeyring({ ...settings, secretKey: node })
  await keyring.ready()
  const verdict = keyring.verify(key)
  assert.ok(verdict.valid)
  const limiter = createLimiter({ ...patient, secretKey: node })
  assert.equal((await limiter.limit(verdict)).allowed, true)
  assert.equal((await limiter.limit(verdict)).allowed, false)
})

test('a keyring whose key may not read policy names the missing permission and stops', async () => {
  await using keyring = createKeyring({ ...settings, secretKey: await keyOf({ preset: 'embed' }) })
  await assert.rejects(keyring.ready(), (error: KeyrailError) => {
    assert.deepEqual([error.code, error.status, error.retryable], ['insufficient_permission', 403, false])
    assert.match(error.message, /policy:read/)
    return true
  })
})

test('a keyring of a project outside its key’s projects gets not_found', async () => {
  const { id } = await admin.projects.create({ name: 'Other', slug: 'other' })
  await using keyring = createKeyring({ ...settings, project: id, secretKey: node })
  await assert.rejects(keyring.ready(), { code: 'not_found', retryable: false })
})

test('the admin client reports which permission its key lacks', async () => {
  const { keys, secretKeys, auditLogs, usage } = createAdmin({ ...connection, secretKey: node })
  const body = { projectId: vendor.projectId, tenantId: vendor.tenantId, env: 'live' } as const
  for (const [call, permission] of [
    [() => keys.list().page(), 'keys:read'],
    [() => keys.create(body), 'keys:write'],
    [() => secretKeys.create({ env: 'live' }), 'secret_keys:write'],
    [() => auditLogs.list().page(), 'audit:read'],
    [() => usage.billing(), 'usage:read'],
  ] as const) {
    await assert.rejects(call(), (error: KeyrailError) => {
      assert.deepEqual([error.code, error.status, error.retryable], ['insufficient_permission', 403, false])
      assert.ok(error.message.includes(permission), error.message)
      assert.ok(!error.message.includes(node))
      return true
    })
  }
})

test('a test secret key gets live_credential_required where a live key is needed', async () => {
  const { usage, securityEvents } = createAdmin({ ...connection, secretKey: vendor.test })
  for (const read of [
    () => usage.billing(),
    () => usage.tenants().page(),
    () => securityEvents.list().page(),
  ])
    await assert.rejects(read(), (error: KeyrailError) => {
      assert.deepEqual([error.code, error.status], ['live_credential_required', 403])
      assert.match(error.message, /needs a live credential/)
      return !error.message.includes(vendor.test)
    })
})

test('the limits of a key are returned as they were set', async () => {
  const { permissions, projectIds, allowedCidrs } = await admin.secretKeys.create({
    env: 'live',
    permissions: ['keys:read'],
    projectIds: [vendor.projectId],
    allowedCidrs: ['127.0.0.0/8'],
  })
  assert.deepEqual(
    [permissions, projectIds, allowedCidrs],
    [['keys:read'], [vendor.projectId], ['127.0.0.0/8']],
  )
})

test('a key used from another address is refused, without a retry', async () => {
  const elsewhere = createAdmin({
    ...connection,
    secretKey: await keyOf({ allowedCidrs: ['203.0.113.0/24'] }),
  })
  await assert.rejects(elsewhere.workspace.get(), { code: 'ip_not_allowed', status: 403, retryable: false })
})
