import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { networksAMinute } from '../keys/turns.ts'

const harness = await startHarness()
const { ask, query } = harness
const office = ['203.0.113.0/24']
const all = ['keys:read', 'keys:write', 'network:write']

const call = (token: string, method: string, path: string, body?: object) =>
  ask(method, `/v1/embed/${path}`, { token, ...(body && { body }) })
const canOf = async (token: string) => {
  const { can, tenant } = (await call(token, 'GET', 'session')).body
  return [can.network, can.tenant_network, tenant.allowed_cidrs]
}

test('a token with network:write changes the networks of keys and of the tenant', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor, { scopes: all })
  const { id } = await issueKey(harness, vendor)
  assert.deepEqual(await canOf(token), [true, true, []])
  const key = await call(token, 'PATCH', `keys/${id}`, { allowed_cidrs: ['::ffff:203.0.113.0/120'] })
  assert.deepEqual([key.status, key.body.allowed_cidrs], [200, office])
  const tenant = await call(token, 'PATCH', 'tenant', { allowed_cidrs: ['203.0.113.0/24', '203.0.113.0/24'] })
  const stored = (await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })).body
  const { meta: _, suspended_at: __, suspended_reason: ___, delete_protection: ____, ...shown } = stored
  assert.deepEqual([tenant.status, tenant.body], [200, shown])
  assert.deepEqual([shown.allowed_cidrs, await canOf(token)], [office, [true, true, office]])
  const listed = (await call(token, 'GET', 'keys')).body.data
  assert.deepEqual(listed[0].allowed_cidrs, office)
  const rows = await query(
    `select action, payload, actor_type from audit_logs where workspace_id = $1 and action like '%.updated' order by seq`,
    [vendor.workspaceId],
  )
  assert.deepEqual(
    rows.map(({ action, payload, actor_type }) => [action, JSON.parse(payload), actor_type]),
    [
      ['api_key.updated', { allowed_cidrs: { old: null, new: office } }, 'embed_token'],
      ['tenant.updated', { allowed_cidrs: { old: [], new: office } }, 'embed_token'],
    ],
  )
})

test('without network:write a token reads the lists and changes none', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor, { scopes: ['keys:read', 'keys:write'] })
  const { id } = await issueKey(harness, vendor, { allowed_cidrs: office })
  assert.deepEqual(await canOf(token), [false, false, []])
  for (const [path, body] of [
    [`keys/${id}`, { allowed_cidrs: [] }],
    [`keys/${id}`, { name: 'CI', allowed_cidrs: null }],
    ['tenant', { allowed_cidrs: office }],
  ] as const) {
    const { status, body: problem } = await call(token, 'PATCH', path, body)
    assert.deepEqual([status, problem.code], [403, 'insufficient_scope'])
    assert.match(problem.detail, /network:write/)
  }
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.deepEqual([body.name, body.allowed_cidrs], [null, office])
  const alone = await mintToken(harness, vendor, { scopes: ['network:write'] })
  const statuses = []
  for (const path of [`keys/${id}`, 'tenant'])
    statuses.push((await call(alone, 'PATCH', path, { allowed_cidrs: [] })).status)
  assert.deepEqual(statuses, [403, 200])
})

test('a token of test changes its keys, and not the tenant, whose list holds for live keys', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor, { env: 'test', scopes: all })
  const { id } = await issueKey(harness, vendor, { env: 'test' })
  assert.deepEqual((await canOf(token)).slice(0, 2), [true, false])
  assert.equal((await call(token, 'PATCH', `keys/${id}`, { allowed_cidrs: office })).status, 200)
  const { status, body } = await call(token, 'PATCH', 'tenant', { allowed_cidrs: office })
  assert.deepEqual([status, body.code], [403, 'live_credential_required'])
})

test('a suspended tenant changes no network, and a rotation in the browser keeps the list', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor, { scopes: all })
  const { id } = await issueKey(harness, vendor, { allowed_cidrs: office })
  const tell = (verb: string) => ask('POST', `/v1/tenants/${vendor.tenantId}/${verb}`, { token: vendor.live })
  await tell('suspend')
  assert.deepEqual((await canOf(token)).slice(0, 2), [false, false])
  for (const path of [`keys/${id}`, 'tenant'])
    assert.equal((await call(token, 'PATCH', path, { allowed_cidrs: [] })).status, 403)
  await tell('resume')
  const rotated = await call(token, 'POST', `keys/${id}/rotate`)
  assert.deepEqual([rotated.status, rotated.body.allowed_cidrs], [200, office])
})

test('a tenant changes its own networks a few times a minute', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor, { scopes: all })
  for (let taken = 0; taken < networksAMinute; taken += 1)
    assert.equal((await call(token, 'PATCH', 'tenant', { allowed_cidrs: office })).status, 200)
  const { status, body } = await call(token, 'PATCH', 'tenant', { allowed_cidrs: office })
  assert.deepEqual([status, body.code], [429, 'too_many_requests'])
})

test('a key that is bound to projects mints no token that reaches them all', async () => {
  const vendor = await makeVendor(harness)
  const { live, projectId, tenantId } = vendor
  const made = await ask('POST', '/v1/secret_keys', {
    token: live,
    body: { env: 'live', preset: 'embed', project_ids: [projectId] },
  })
  const mint = (scopes: string[]) =>
    ask('POST', '/v1/embed_tokens', {
      token: made.body.key,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', scopes },
    })
  assert.equal((await mint(['keys:read', 'keys:write'])).status, 201)
  const { status, body } = await mint(['network:write'])
  assert.deepEqual([status, body.code], [403, 'whole_workspace_required'])
})
