import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { presets } from '@keyrail/contract/vendor/permissions'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { monthly, openVerify } from '../../test/verifying.ts'
import { drawToken } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask, deps } = harness
const vendor = await makeVendor(harness)
const { projectId, live } = vendor

const { verify, codeOf } = openVerify(harness, vendor)
const revoke = ({ id }: { id: string }) => ask('POST', `/v1/keys/${id}/revoke`, { token: live })

test('a revocation holds for the next call, and limits are those of now', async () => {
  const made = await issueKey(harness, vendor)
  assert.equal(await codeOf(made.key), 'valid')
  await ask('PATCH', `/v1/keys/${made.id}`, { token: live, body: { rate_limits: [monthly(1)] } })
  assert.deepEqual([await codeOf(made.key), await codeOf(made.key)], ['valid', 'rate_limited'])
  await revoke(made)
  assert.equal(await codeOf(made.key), 'revoked_key')
})

test('limits are charged as by a check of the same rules: one budget, all or none', async () => {
  const rules = [monthly(4), { ...monthly(3, 'tenant'), id: 'tenant' }]
  const made = await issueKey(harness, vendor, { rate_limits: rules })
  const { body: first } = await verify(made.key, { cost: 2 })
  const body = {
    project_id: projectId,
    env: 'live',
    key_id: made.id,
    tenant_id: vendor.tenantId,
    limits: rules,
    cost: 0,
  }
  const { body: peek } = await ask('POST', '/v1/ratelimit/check', { token: live, body })
  assert.deepEqual(
    first.limits.map((one: { remaining: number }) => one.remaining),
    [2, 1],
  )
  const numbers = ({ limits }: { limits: object[] }) => limits.map(one => ({ ...one, reset_ms: 0 }))
  assert.deepEqual(numbers(first), numbers(peek))
  assert.equal(first.headers['RateLimit-Policy'], peek.headers['RateLimit-Policy'])
  const { body: denied } = await verify(made.key, { cost: 2 })
  assert.deepEqual([denied.valid, denied.code, denied.key.id], [false, 'rate_limited', made.id])
  assert.match(denied.headers['Retry-After'], /^\d+$/)
  assert.deepEqual(
    denied.limits.map((one: { allowed: boolean }) => one.allowed),
    [true, false],
  )
  const never = await verify(made.key, { cost: 5 })
  assert.deepEqual([never.body.code, never.body.headers['Retry-After']], ['rate_limited', undefined])
  assert.deepEqual([await codeOf(made.key), await codeOf(made.key, { cost: 0 })], ['valid', 'valid'])
})

test('a refused key charges nothing, and a project default is charged where a key has no limits', async () => {
  const project = await makeProject(harness, vendor)
  const body = { default_rate_limits: [monthly(1)] }
  await ask('PATCH', `/v1/projects/${project.id}`, { token: live, body })
  const issue = (more = {}) => issueKey(harness, vendor, { project_id: project.id, ...more })
  const [inherits, without] = [await issue(), await issue({ rate_limits: [] })]
  const more = { project_id: project.id }
  assert.equal(await codeOf(inherits.key, { ...more, scopes: ['a'] }), 'insufficient_scope')
  assert.deepEqual(
    [await codeOf(inherits.key, more), await codeOf(inherits.key, more)],
    ['valid', 'rate_limited'],
  )
  assert.deepEqual([await codeOf(without.key, more), await codeOf(without.key, more)], ['valid', 'valid'])
})

test('a key with limits needs ratelimit:check, and nothing else does', async () => {
  const { key: token } = await makeSecretKey(harness, vendor, { permissions: ['keys:verify'] })
  const limited = await issueKey(harness, vendor, { name: 'secret name', rate_limits: [monthly(1)] })
  const plain = await issueKey(harness, vendor, { name: 'secret name' })
  const { status, body } = await verify(limited.key, {}, token)
  assert.deepEqual([status, body.code], [403, 'insufficient_permission'])
  assert.match(body.detail, /ratelimit:check/)
  assert.equal(await codeOf(limited.key, { scopes: ['a'] }, token), 'insufficient_scope')
  const valid = await verify(plain.key, {}, token)
  assert.deepEqual([valid.body.code, 'name' in valid.body.key], ['valid', false])
})

test('the preset node verifies, and a key made with the older one is told what it lacks', async () => {
  const { key } = await issueKey(harness, vendor, { name: 'n', rate_limits: [monthly(9)] })
  const node = await makeSecretKey(harness, vendor, { preset: 'node' })
  assert.equal(await codeOf(key, {}, node.key), 'valid')
  const older = await makeSecretKey(harness, vendor, {
    permissions: presets.node.filter(permission => permission !== 'keys:verify'),
  })
  const rotated = await ask('POST', `/v1/secret_keys/${older.id}/rotate`, { token: live, body: {} })
  for (const token of [older.key, rotated.body.key]) {
    const { status, body } = await verify(key, {}, token)
    assert.deepEqual([status, body.code], [403, 'insufficient_permission'])
    assert.match(body.detail, /keys:verify/)
  }
  const labels = await makeSecretKey(harness, vendor, {
    permissions: ['keys:verify', 'policy:labels', 'ratelimit:check'],
  })
  assert.equal((await verify(key, {}, labels.key)).body.key.name, 'n')
})

test('requests are counted, by key and by reason, and when a key was last used', async () => {
  const { live: token, projectId: project_id, ...own } = await makeVendor(harness)
  const there = { live: token, projectId: project_id, ...own }
  const [used, limited] = [
    await issueKey(harness, there),
    await issueKey(harness, there, { rate_limits: [monthly(1)] }),
  ]
  const testKey = await issueKey(harness, there, { env: 'test' })
  const codes = []
  for (const [key, more] of [
    [used.key, {}],
    [used.key, { cost: 0 }],
    [used.key, { scopes: ['a'] }],
    [limited.key, {}],
    [limited.key, {}],
    [testKey.key, {}],
    [drawToken('kr_test', randomBytes), {}],
    [drawToken('kr_live', randomBytes), {}],
    ['no key', {}],
  ] as const)
    codes.push(await codeOf(key, { project_id, ...more }, token))
  assert.equal(codes.filter(code => code === 'valid').length, 4)
  await deps.ownCounts.flush()
  await deps.ownCounts.flush()
  const totals = []
  for (const { id } of [used, limited, testKey])
    totals.push((await ask('GET', `/v1/keys/${id}/usage?days=1`, { token })).body)
  assert.deepEqual(
    totals.map(({ total, estimated }) => [total, estimated]),
    [
      [2, false],
      [1, false],
      [1, false],
    ],
  )
  assert.notEqual((await ask('GET', `/v1/keys/${used.id}`, { token })).body.last_used_at, null)
  const reasons = async (env: string) =>
    (await ask('GET', `/v1/usage/refusals?days=1&env=${env}`, { token })).body.data
  assert.deepEqual(await reasons('live'), [
    { reason: 'insufficient_scope', count: 1 },
    { reason: 'rate_limited', count: 1 },
    { reason: 'unknown_key', count: 1 },
  ])
  assert.deepEqual(await reasons('test'), [{ reason: 'unknown_key', count: 1 }])
})
