import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query, clock } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const disable = (id: string, body = {}) => ask('POST', `/v1/keys/${id}/disable`, { token: live, body })
const enable = (id: string) => ask('POST', `/v1/keys/${id}/enable`, { token: live })
const get = async (id: string) => (await ask('GET', `/v1/keys/${id}`, { token: live })).body
const audited = async (id: string) =>
  (await query('select action, payload from audit_logs where target_id = $1 order by seq', [id])).map(
    ({ action, payload }) => [action, JSON.parse(payload)],
  )
const snapshot = async () => {
  const path = `/v1/policy/snapshot?project_id=${vendor.projectId}&node=a`
  return (await ask('GET', path, { token: live })).body
}
const deltaSince = async (version: number) => {
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&node=a&since=${version}`
  return (await ask('GET', path, { token: live })).body
}
const verify = async (key: string) => {
  const body = { key, project_id: vendor.projectId }
  return (await ask('POST', '/v1/keys/verify', { token: live, body })).body.code
}

/** A tenant with an embed token that may write. */
async function embedded() {
  const tenant = await makeTenant(harness, vendor)
  const body = {
    project_id: vendor.projectId,
    tenant_id: tenant.id,
    env: 'live',
    scopes: ['keys:read', 'keys:write'],
  }
  const { token } = (await ask('POST', '/v1/embed_tokens', { token: live, body })).body
  const { id } = await issueKey(harness, vendor, { tenant_id: tenant.id })
  const call = (verb: string) =>
    ask('POST', `/v1/embed/keys/${id}/${verb}`, { token, body: verb === 'enable' ? undefined : {} })
  return { id, call }
}

test('a paused key is refused, and after the pause it is exactly what it was', async () => {
  const { key, id } = await issueKey(harness, vendor, { name: 'CI', scopes: ['read'], meta: { plan: 'pro' } })
  const before = await get(id)
  const { version } = await snapshot()
  clock.advance(1_000)
  const paused = (await disable(id, { reason: 'unpaid' })).body
  assert.deepEqual([paused.disabled_reason, paused.disabled_by], ['unpaid', 'vendor'])
  assert.equal(paused.disabled_at, new Date(clock.now()).toISOString())
  assert.equal(await verify(key), 'disabled_key')
  const gone = await deltaSince(version)
  assert.deepEqual(
    gone.changes.map(({ change, key_id, cause }: Record<string, unknown>) => [change, key_id, cause]),
    [['tombstone', id, 'disabled']],
  )
  assert.ok((await snapshot()).keys.every(({ key_id }: { key_id: string }) => key_id !== id))

  clock.advance(1_000)
  const { body: resumed } = await enable(id)
  assert.deepEqual({ ...resumed, updated_at: '' }, { ...before, updated_at: '' })
  assert.equal(await verify(key), 'valid')
  const [back] = (await deltaSince(gone.version)).changes
  assert.deepEqual([back.change, back.key_id, back.scopes], ['upsert', id, ['read']])
  assert.deepEqual((await audited(id)).slice(1), [
    ['api_key.disabled', { reason: 'unpaid', disabled_by: 'vendor' }],
    ['api_key.enabled', { disabled_by: 'vendor' }],
  ])
})

test('a repeat changes nothing, and writes no second audit row', async () => {
  const { id } = await issueKey(harness, vendor)
  await enable(id)
  const first = (await disable(id)).body
  const { version } = await snapshot()
  assert.deepEqual((await disable(id, { reason: 'again' })).body, first)
  await enable(id)
  await enable(id)
  assert.equal((await snapshot()).version, version + 1)
  assert.deepEqual(
    (await audited(id)).map(([action]) => action),
    ['api_key.created', 'api_key.disabled', 'api_key.enabled'],
  )
})

test('a paused key may be changed and revoked, and not rotated', async () => {
  const { key, id } = await issueKey(harness, vendor)
  await disable(id)
  const rotated = await ask('POST', `/v1/keys/${id}/rotate`, { token: live, body: {} })
  assert.deepEqual([rotated.status, rotated.body.code], [409, 'key_not_active'])
  const changed = await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { name: 'later' } })
  assert.deepEqual([changed.status, changed.body.name], [200, 'later'])
  assert.equal(await verify(key), 'disabled_key')
  await ask('POST', `/v1/keys/${id}/revoke`, { token: live })
  assert.equal(await verify(key), 'revoked_key')
  for (const call of [disable, enable])
    assert.deepEqual([(await call(id)).status, (await call(id)).body.code], [409, 'key_not_active'])
})

test('lists by status show paused keys among the paused alone', async () => {
  const { id } = await issueKey(harness, vendor, { name: 'listed' })
  await disable(id)
  for (const [status, isListed] of [
    ['disabled', true],
    ['active', false],
    ['revoked', false],
  ] as const) {
    const path = `/v1/keys?status=${status}&q=listed`
    const { data } = (await ask('GET', path, { token: live })).body
    assert.equal(
      data.some((one: { id: string }) => one.id === id),
      isListed,
      status,
    )
  }
})

test('with wait=true the answer says which nodes do not have the pause yet', async () => {
  const { id } = await issueKey(harness, vendor)
  await snapshot()
  const paused = await ask('POST', `/v1/keys/${id}/disable?wait=true`, { token: live, body: {} })
  assert.deepEqual([paused.status, paused.body.propagation.pending], [200, ['a']])
})

test('a tenant pauses and resumes its own key, and does not resume what the vendor paused', async () => {
  const { id, call } = await embedded()
  const own = await call('disable')
  assert.deepEqual([own.status, own.body.disabled_by], [200, 'tenant'])
  assert.equal((await call('enable')).body.disabled_at, null)
  await call('disable')
  clock.advance(1_000)
  const taken = (await disable(id, { reason: 'unpaid' })).body
  assert.deepEqual([taken.disabled_by, Date.parse(taken.disabled_at)], ['vendor', clock.now()])
  assert.deepEqual([(await call('disable')).status, (await get(id)).disabled_by], [200, 'vendor'])
  const refused = await call('enable')
  assert.deepEqual([refused.status, refused.body.code], [409, 'key_not_active'])
  assert.equal((await enable(id)).body.disabled_at, null)
})

test('a key of another workspace is neither paused nor resumed', async () => {
  const { id } = await issueKey(harness, vendor)
  const other = await makeVendor(harness)
  for (const verb of ['disable', 'enable'])
    assert.equal((await ask('POST', `/v1/keys/${id}/${verb}`, { token: other.live })).status, 404, verb)
  const reader = await makeSecretKey(harness, vendor, { permissions: ['keys:read'] })
  const refused = await ask('POST', `/v1/keys/${id}/disable`, { token: reader.key, body: {} })
  assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_permission'])
})
