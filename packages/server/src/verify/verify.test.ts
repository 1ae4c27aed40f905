import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { serviceVerdicts } from '@keyrail/contract/verdicts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { issueKey, makeProject, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'
import { monthly, openVerify } from '../../test/verifying.ts'
import { drawToken, tokenDigest } from '../platform/crypto/token.ts'
import { findKeys } from './sql.ts'

const harness = await startHarness()
const { ask, query, logged } = harness
const vendor = await makeVendor(harness)
const { projectId, live } = vendor

const { verify, codeOf } = openVerify(harness, vendor)
const revoke = ({ id }: { id: string }) => ask('POST', `/v1/keys/${id}/revoke`, { token: live })

test('a valid key has its record in the verdict, and nothing of the key itself', async () => {
  const expires_at = '2999-01-01T00:00:00.000Z'
  const made = await issueKey(harness, vendor, {
    name: 'n',
    scopes: ['b', 'a'],
    meta: { plan: 1 },
    expires_at,
  })
  const { status, body } = await verify(made.key, { scopes: ['a'], ip: '203.0.113.7' })
  const tenant = (await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: live })).body
  assert.equal(status, 200)
  assert.deepEqual(body, {
    object: 'key_verdict',
    valid: true,
    code: 'valid',
    key: {
      id: made.id,
      tenant_id: vendor.tenantId,
      external_id: tenant.external_id,
      env: 'live',
      scopes: ['b', 'a'],
      meta: { plan: 1 },
      expires_at,
      name: 'n',
    },
    limits: [],
    headers: {},
  })
  const large = await issueKey(harness, vendor, { meta: { text: 'x'.repeat(2_048) } })
  assert.equal((await verify(large.key)).body.key.meta, null)
})

test('each verdict has its code, in the order of the contract', async () => {
  const other = await makeVendor(harness)
  const key = drawToken('kr_live', randomBytes)
  const expired = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const both = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const revoked = await issueKey(harness, vendor)
  const plain = await issueKey(harness, vendor)
  for (const one of [both, revoked]) await revoke(one)
  const heard = [
    await codeOf(''),
    await codeOf('x'),
    await codeOf('\u{1F600}'.repeat(16_384)),
    await codeOf(`${plain.key} `),
    await codeOf(plain.key.toUpperCase()),
    await codeOf(drawToken('krses', randomBytes)),
    await codeOf(key),
    await codeOf(live),
    await codeOf((await issueKey(harness, other)).key),
    await codeOf(revoked.key, { scopes: ['a'] }),
    await codeOf(both.key),
    await codeOf(expired.key, { scopes: ['a'] }),
    await codeOf(plain.key, { scopes: ['a'] }),
    await codeOf(plain.key),
  ]
  const order = [0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 6, 10]
  const codes = serviceVerdicts.slice(1)
  assert.deepEqual(heard, [...order.map(at => codes[at]), 'valid'])
  const { body } = await verify(revoked.key)
  assert.deepEqual(body, {
    object: 'key_verdict',
    valid: false,
    code: 'revoked_key',
    key: null,
    limits: [],
    headers: {},
  })
})

test('keys of a suspended tenant have its verdict in its order, and charge nothing', async () => {
  const { id } = await makeTenant(harness, vendor)
  const issue = (more = {}) => issueKey(harness, vendor, { tenant_id: id, ...more })
  const [plain, expired] = [
    await issue({ rate_limits: [monthly(1)] }),
    await issue({ expires_at: '2020-01-01T00:00:00Z' }),
  ]
  const [paused, revoked] = [await issue(), await issue()]
  await ask('POST', `/v1/keys/${paused.id}/disable`, { token: live })
  await revoke(revoked)
  const heard = async () => [
    await codeOf(plain.key, { scopes: ['a'] }),
    await codeOf(expired.key),
    await codeOf(paused.key),
    await codeOf(revoked.key),
  ]
  assert.deepEqual(await heard(), ['insufficient_scope', 'expired_key', 'disabled_key', 'revoked_key'])
  await ask('POST', `/v1/tenants/${id}/suspend`, { token: live })
  assert.deepEqual(await heard(), ['suspended_tenant', 'suspended_tenant', 'disabled_key', 'revoked_key'])
  assert.equal(await codeOf(plain.key), 'suspended_tenant')
  await ask('POST', `/v1/tenants/${id}/resume`, { token: live })
  assert.deepEqual([await codeOf(plain.key), await codeOf(plain.key)], ['valid', 'rate_limited'])
})

test('a key of another project, environment or workspace is unknown, in any state', async () => {
  const project = await makeProject(harness, vendor)
  const far = await issueKey(harness, vendor, { project_id: project.id })
  const [own, testKey] = [await issueKey(harness, vendor), await issueKey(harness, vendor, { env: 'test' })]
  assert.equal(await codeOf(far.key), 'unknown_key')
  await revoke(far)
  assert.equal(await codeOf(far.key), 'unknown_key')
  assert.equal(await codeOf(far.key, { project_id: project.id }), 'revoked_key')
  assert.equal(await codeOf(own.key, {}, vendor.test), 'unknown_key')
  assert.equal(await codeOf(testKey.key, {}, vendor.test), 'valid')
  assert.equal(await codeOf(testKey.key), 'valid')
})

test('a foreign, deleted, unseen or unknown project is the same 404, whatever the key', async () => {
  const other = await makeVendor(harness)
  const [deleted, hidden] = [await makeProject(harness, vendor), await makeProject(harness, vendor)]
  await ask('DELETE', `/v1/projects/${deleted.id}`, { token: live })
  const bound = await makeSecretKey(harness, vendor, { project_ids: [projectId] })
  const { key } = await issueKey(harness, vendor)
  const heard = [
    await verify(key, { project_id: randomUUID() }),
    await verify('', { project_id: randomUUID() }),
    await verify(key, { project_id: other.projectId }),
    await verify(key, { project_id: deleted.id }),
    await verify(key, { project_id: hidden.id }, bound.key),
  ]
  for (const { status, body } of heard) {
    assert.deepEqual([status, body.code], [404, 'not_found'])
    assert.deepEqual({ ...body, request_id: '' }, { ...heard[0]?.body, request_id: '' })
  }
  assert.equal(await codeOf(key, { project_id: projectId.toUpperCase() }, bound.key), 'valid')
})

test('a key is refused outside its networks, and those of its tenant, with the next call', async () => {
  const { id: tenant_id } = await makeTenant(harness, vendor)
  const { id, key } = await issueKey(harness, vendor, { tenant_id, scopes: ['a'] })
  const heard = async () => [
    await codeOf(key),
    await codeOf(key, { ip: '203.0.113.255' }),
    await codeOf(key, { ip: '[::ffff:203.0.113.0]:443' }),
    await codeOf(key, { ip: '203.0.114.0', scopes: ['b'] }),
  ]
  const patch = (path: string, allowed_cidrs: string[] | null) =>
    ask('PATCH', `/v1/${path}`, { token: live, body: { allowed_cidrs } })
  assert.deepEqual(await heard(), ['valid', 'valid', 'valid', 'insufficient_scope'])
  await patch(`tenants/${tenant_id}`, ['203.0.113.0/24'])
  const inside = ['ip_unknown', 'valid', 'valid', 'ip_not_allowed']
  assert.deepEqual(await heard(), inside)
  await patch(`keys/${id}`, ['203.0.114.0/24'])
  const outside = ['ip_unknown', 'ip_not_allowed', 'ip_not_allowed', 'insufficient_scope']
  assert.deepEqual(await heard(), outside)
  await patch(`keys/${id}`, [])
  assert.deepEqual(await heard(), ['valid', 'valid', 'valid', 'insufficient_scope'])
  await patch(`keys/${id}`, null)
  assert.deepEqual(await heard(), inside)
  const { body } = await verify(key, { ip: '192.0.2.1' })
  assert.deepEqual([body.valid, body.key, body.limits], [false, null, []])
  // A list that no release writes lets nobody through.
  await query(`update api_keys set allowed_cidrs = '{everywhere}' where id = $1`, [id])
  assert.deepEqual(await heard(), ['ip_unknown', 'ip_not_allowed', 'ip_not_allowed', 'ip_not_allowed'])
})

test('a person cannot verify, and a body is refused before its project is looked for', async () => {
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const { status, body } = await verify('x', {}, person.token)
  assert.deepEqual([status, body.code], [403, 'credential_not_accepted'])
  const project_id = randomUUID()
  for (const [path, more] of [
    ['ip', { ip: '203.0.113' }],
    ['ip', { ip: 'localhost' }],
    ['cost', { cost: 1_001 }],
    ['cost', { cost: 0.5 }],
    ['scopes.0', { scopes: [''] }],
    ['env', { env: 'live' }],
    ['key', { key: 'x'.repeat(16_385) }],
    ['key', { key: null }],
  ] as const) {
    const { status, body } = await verify('x', { project_id, ...more })
    assert.deepEqual([status, body.errors?.[0]?.path], [400, path])
  }
  for (const ip of ['203.0.113.7', '2001:DB8::1', '[2001:db8::1]:443', '::ffff:203.0.113.7'])
    assert.equal(await codeOf('x', { ip }), 'malformed_key')
})

test('a verification writes nothing but counts and limits, and no log line has the key', async () => {
  const { key } = await issueKey(harness, vendor)
  const count = async () =>
    (
      await query('select (select count(*) from audit_logs) as rows, (select sum(version) from policy_heads)')
    )[0]
  const before = await count()
  const invented = drawToken('kr_live', randomBytes)
  await verify(key)
  await verify(invented)
  await ask('POST', '/v1/keys/verify', { token: live, body: { key, projectId: 1 } })
  await ask('POST', '/v1/keys/verify', { token: live, body: `{"key":"${key}"` })
  assert.deepEqual(await count(), before)
  const log = logged.join('')
  for (const text of [key, invented]) assert.ok(!log.includes(text.slice(8)))
})

test('keys that are asked about together get their own verdicts', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => issueKey(harness, vendor)))
  const asked = [...keys, ...keys].map(({ id, key }, at) => ({ id, key: at % 3 === 0 ? `${key}x` : key }))
  const heard = await Promise.all(asked.map(({ key }) => verify(key)))
  assert.deepEqual(
    heard.map(({ body }) => body.key?.id ?? body.code),
    asked.map(({ id }, at) => (at % 3 === 0 ? 'malformed_key' : id)),
  )
})

test('a key among 20,000 is found by index, with and without statistics', async () => {
  const { workspaceId, projectId, tenantId } = await makeVendor(harness)
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at)
     select $1, gen_random_uuid(), $2, $3, 'live', 'kr_live_abcd', sha256(n::text::bytea), now(), now()
     from generate_series(1, 20000) n`,
    [workspaceId, projectId, tenantId],
  )
  const readRows = await openStatementWork(harness)
  const values = [
    [workspaceId],
    [projectId],
    [`"\\\\x${tokenDigest('5000').toString('hex')}"`],
    [false],
    [true],
  ]
  for (const isAnalyzed of [false, true]) {
    if (isAnalyzed) await query('analyze api_keys')
    for (const mode of ['custom', 'generic'] as const) {
      const { rows, indexes, plan } = await readRows(workspaceId, mode, findKeys, values)
      assert.ok(rows <= 3, plan)
      assert.ok(indexes.includes('api_keys_lookup_hash_unique'), plan)
    }
  }
})

test('NUL and unpaired surrogates are refused as in every body, and named as faults of the key', async () => {
  for (const [text, fault] of [
    ['a\0', 'must not contain NUL'],
    ['\ud800', 'must not contain an unpaired surrogate'],
  ] as const) {
    const { status, body } = await verify(text)
    assert.deepEqual([status, body.errors], [400, [{ path: 'key', message: fault }]])
  }
})
