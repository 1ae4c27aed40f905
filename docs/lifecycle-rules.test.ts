import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHouse, setStage } from './lifecycle-stage.ts'

/** What docs/lifecycle.md says about rotations, the cap, repeats, and the order of refusals. */
const harness = await openHouse()
const { ask } = harness

test('successors get the expiry from before any overlap, and rotated_to names the newest', async () => {
  const { token, keyId } = await setStage(harness)
  for (const path of [`/v1/keys/${keyId}`, `/v1/secret_keys/${await secondSecretKey(token)}`]) {
    const original = (await ask('GET', path, { token })).body.expires_at
    for (const overlap_hours of [2, 0]) {
      const { body } = await ask('POST', `${path}/rotate`, { token, body: { overlap_hours } })
      assert.equal(body.expires_at, original)
      assert.notEqual(body.predecessor.expires_at, original)
      assert.equal((await ask('GET', path, { token })).body.rotated_to, body.id)
    }
  }
})

async function secondSecretKey(token: string): Promise<string> {
  const body = { env: 'live', expires_at: '2999-01-01T00:00:00Z' }
  return (await ask('POST', '/v1/secret_keys', { token, body })).body.id
}

test('the cap applies when a key is created, and when an expired one is renewed', async () => {
  const stage = await setStage(harness)
  const { token, projectId: project_id, tenantId: tenant_id } = stage
  const create = (more: object = {}) =>
    ask('POST', '/v1/keys', { token, body: { project_id, tenant_id, env: 'test', ...more } })
  const expired = await create({ expires_at: '2020-01-01T00:00:00Z' })
  assert.equal((await create()).status, 201)
  assert.equal((await create()).body.code, 'key_limit_reached')
  const renewed = await ask('PATCH', `/v1/keys/${expired.body.id}`, { token, body: { expires_at: null } })
  assert.equal(renewed.body.code, 'key_limit_reached')
})

test('an Idempotency-Key replays the first answer without its secret, to its credential only', async () => {
  const { token, projectId, tenantId } = await setStage(harness)
  const other = await ask('POST', '/v1/secret_keys', { token, body: { env: 'live' } })
  const create = (name: string, by = token) =>
    ask('POST', '/v1/keys', {
      token: by,
      headers: { 'idempotency-key': 'order-17' },
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', name },
    })
  const refused = await create('x'.repeat(201))
  assert.equal(refused.status, 400)
  const { key, ...first } = (await create('a')).body
  assert.ok(key)
  const again = await create('a')
  assert.deepEqual([again.status, again.headers['idempotent-replayed'], again.body], [201, 'true', first])
  assert.equal((await create('b')).body.code, 'idempotency_key_reused')
  assert.equal((await create('a', other.body.key)).body.code, 'key_limit_reached')
})

test('revoke with wait counts the nodes that poll; without one it answers at once', async () => {
  const { token, projectId, keyId } = await setStage(harness)
  const propagation = async () =>
    (await ask('POST', `/v1/keys/${keyId}/revoke?wait=true`, { token })).body.propagation
  const { acknowledged, nodes } = await propagation()
  assert.deepEqual({ acknowledged, nodes }, { acknowledged: true, nodes: 0 })
  const project = await ask('GET', `/v1/projects/${projectId}`, { token })
  const query = `project_id=${projectId}&since=${project.body.policy_version}&node=api-1`
  assert.equal((await ask('GET', `/v1/policy/delta?${query}`, { token })).status, 200)
  assert.equal((await propagation()).nodes, 1)
})

test('a request is refused in the order of the page', async () => {
  const stage = await setStage(harness)
  const member = await ask('POST', '/v1/secret_keys', { token: stage.token, body: { env: 'test' } })
  const token = member.body.key
  const missing = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const json = { 'content-type': 'application/json' }
  const codes: string[] = []
  const hear = async (method: string, path: string, more: object) =>
    codes.push((await ask(method, path, more)).body.code)
  await hear('POST', '/v1/nothing', { body: '{' })
  await hear('PUT', '/v1/keys', { body: '{' })
  await hear('POST', '/v1/workspaces', { token: 'unknown', body: '{' })
  await hear('POST', '/v1/workspaces', { token, body: '{' })
  await hear('POST', '/v1/projects', { token, body: '{' })
  await hear('POST', '/v1/keys', { token, body: '{', headers: { 'content-type': 'text/plain' } })
  await hear('POST', '/v1/keys', { token, body: '{', headers: json })
  await hear('POST', '/v1/keys', { token, body: { env: 'live' } })
  await hear('POST', '/v1/keys', { token, body: { env: 'live', project_id: missing, tenant_id: missing } })
  await hear('POST', `/v1/keys/${missing}/revoke?wait=perhaps`, { token, body: { reason: '' } })
  await hear('POST', '/v1/keys', { token, body: { env: 'test', project_id: missing, tenant_id: missing } })
  await ask('POST', `/v1/keys/${stage.keyId}/revoke`, { token: stage.token })
  await hear('POST', `/v1/keys/${stage.keyId}/rotate`, { token: stage.token })
  assert.deepEqual(codes, [
    'route_not_found',
    'method_not_allowed',
    'unauthenticated',
    'credential_not_accepted',
    'live_credential_required',
    'unsupported_media_type',
    'malformed_json',
    'validation_failed',
    'env_mismatch',
    'validation_failed',
    'not_found',
    'key_not_active',
  ])
})
