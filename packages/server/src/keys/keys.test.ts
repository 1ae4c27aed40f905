import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query, clock } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const actionsOf = async (id: string) =>
  (await query('select action from audit_logs where target_id = $1 order by seq', [id])).map(
    row => row.action,
  )
const versionOf = async (projectId: string) =>
  (await query('select version from policy_heads where project_id = $1', [projectId]))[0].version

test('a created key is shown once and only its digest is stored', async () => {
  const created = await issueKey(harness, vendor, { name: 'CI', scopes: ['read'], meta: { plan: 'pro' } })
  assert.match(created.key, /^kr_live_[0-9A-Za-z]{38}$/)
  assert.equal(created.display_prefix, created.key.slice(0, 12))
  const { body } = await ask('GET', `/v1/keys/${created.id}`, { token: live })
  const { key, ...rest } = created
  assert.deepEqual(body, rest)
  const [row] = await query('select lookup_hash from api_keys where id = $1', [created.id])
  assert.deepEqual(row.lookup_hash, hash('sha256', key, 'buffer'))
})

test('a key carries the prefix of its project', async () => {
  const project = await ask('POST', '/v1/projects', {
    token: live,
    body: { name: 'Maps', slug: uniqueSlug('maps'), key_prefix: 'maps' },
  })
  const created = await issueKey(harness, vendor, { project_id: project.body.id, env: 'test' })
  assert.match(created.key, /^maps_test_[0-9A-Za-z]{38}$/)
})

test('creating a key under an unknown or foreign tenant or project is 404 and writes nothing', async () => {
  const other = await makeVendor(harness)
  const before = await query(
    'select count(*) as keys, (select count(*) from credentials) as digests from api_keys',
  )
  for (const body of [
    { project_id: other.projectId, tenant_id: vendor.tenantId, env: 'live' },
    { project_id: vendor.projectId, tenant_id: other.tenantId, env: 'live' },
    { project_id: vendor.projectId, tenant_id: vendor.projectId, env: 'live' },
  ]) {
    const { status } = await ask('POST', '/v1/keys', { token: live, body })
    assert.equal(status, 404)
  }
  const after = await query(
    'select count(*) as keys, (select count(*) from credentials) as digests from api_keys',
  )
  assert.deepEqual(after, before)
})

test('a patch replaces the fields that it names and keeps the others', async () => {
  const limits = [{ id: 'burst', limit: 10, window_ms: 1000, algorithm: 'sliding', scope: 'key' }]
  const { id } = await issueKey(harness, vendor, {
    scopes: ['a', 'b'],
    meta: { a: 1, b: 2 },
    rate_limits: limits,
  })
  const { body } = await ask('PATCH', `/v1/keys/${id}`, {
    token: live,
    body: { scopes: ['c'], meta: { c: 3 } },
  })
  assert.deepEqual([body.scopes, body.meta, body.rate_limits], [['c'], { c: 3 }, limits])
  const inherited = await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { rate_limits: null } })
  assert.equal(inherited.body.rate_limits, null)
  const [row] = await query(
    "select payload from audit_logs where target_id = $1 and action = 'api_key.updated'",
    [id],
  )
  assert.deepEqual(JSON.parse(row.payload), {
    meta: { old: { a: 1, b: 2 }, new: { c: 3 } },
    scopes: { old: ['a', 'b'], new: ['c'] },
  })
})

test('a patch that changes nothing writes no audit row and no new version', async () => {
  const { id } = await issueKey(harness, vendor, { scopes: ['a'] })
  const version = await versionOf(vendor.projectId)
  const { status } = await ask('PATCH', `/v1/keys/${id}`, {
    token: live,
    body: { scopes: ['a'], name: null },
  })
  assert.equal(status, 200)
  assert.deepEqual(await actionsOf(id), ['api_key.created'])
  assert.equal(await versionOf(vendor.projectId), version)
})

test('each change of a key raises the policy version by one', async () => {
  const { id } = await issueKey(harness, vendor)
  const version = await versionOf(vendor.projectId)
  await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { name: 'renamed', meta: { a: 1 } } })
  assert.equal(await versionOf(vendor.projectId), version + 1)
  await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { scopes: ['x'] } })
  assert.equal(await versionOf(vendor.projectId), version + 2)
})

test('a rotation copies every setting and limits the old key to the overlap', async () => {
  const expires_at = new Date(clock.now() + 90 * 86_400_000).toISOString()
  const old = await issueKey(harness, vendor, {
    name: 'n',
    scopes: ['s'],
    meta: { m: 1 },
    rate_limits: [],
    expires_at,
  })
  const { body } = await ask('POST', `/v1/keys/${old.id}/rotate`, { token: live, body: { overlap_hours: 1 } })
  assert.notEqual(body.key, old.key)
  for (const field of [
    'name',
    'scopes',
    'meta',
    'rate_limits',
    'expires_at',
    'tenant_id',
    'project_id',
    'env',
  ]) {
    assert.deepEqual(body[field], old[field], field)
  }
  assert.equal(body.rotated_from, old.id)
  const predecessor = await ask('GET', `/v1/keys/${old.id}`, { token: live })
  assert.equal(predecessor.body.rotated_to, body.id)
  assert.deepEqual(body.predecessor, { id: old.id, expires_at: predecessor.body.expires_at })
  assert.ok(Date.parse(predecessor.body.expires_at) < Date.parse(expires_at))
})

test('a later successor takes the expiry from before any overlap, or one set since', async () => {
  const expires_at = new Date(clock.now() + 90 * 86_400_000).toISOString()
  for (const original of [expires_at, null]) {
    const { id } = await issueKey(harness, vendor, original === null ? {} : { expires_at })
    const rotate = async (overlap_hours: number) =>
      (await ask('POST', `/v1/keys/${id}/rotate`, { token: live, body: { overlap_hours } })).body
    let end = 0
    for (const hours of [3, 1, 2]) {
      const { expires_at, predecessor } = await rotate(hours)
      assert.equal(expires_at, original)
      end = Date.parse(predecessor.expires_at)
    }
    const sooner = new Date(end - 1).toISOString()
    await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { expires_at: sooner } })
    for (const hours of [1, 0]) assert.equal((await rotate(hours)).expires_at, sooner)
  }
})

test('no patch lets a rotated key outlive its overlap', async () => {
  const old = await issueKey(harness, vendor)
  const { body } = await ask('POST', `/v1/keys/${old.id}/rotate`, { token: live })
  const end = Date.parse(body.predecessor.expires_at)
  for (const expires_at of [null, new Date(end + 1).toISOString()]) {
    const refused = await ask('PATCH', `/v1/keys/${old.id}`, { token: live, body: { expires_at } })
    assert.equal(refused.body.errors[0].path, 'expires_at')
  }
  const shorter = await ask('PATCH', `/v1/keys/${old.id}`, {
    token: live,
    body: { expires_at: new Date(end - 1).toISOString() },
  })
  assert.equal(shorter.status, 200)
})

test('revoked and expired keys are not rotated; an expired key can be renewed by a patch', async () => {
  const expired = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  assert.equal(
    (await ask('POST', `/v1/keys/${expired.id}/rotate`, { token: live })).body.code,
    'key_not_active',
  )
  assert.equal(
    (await ask('PATCH', `/v1/keys/${expired.id}`, { token: live, body: { expires_at: null } })).status,
    200,
  )
  assert.equal((await ask('POST', `/v1/keys/${expired.id}/rotate`, { token: live })).status, 200)
  const revoked = await issueKey(harness, vendor)
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: live })
  assert.equal((await ask('POST', `/v1/keys/${revoked.id}/rotate`, { token: live })).status, 409)
  assert.equal(
    (await ask('PATCH', `/v1/keys/${revoked.id}`, { token: live, body: { name: 'x' } })).status,
    409,
  )
})

test('a repeated revocation keeps the first one and writes no audit row or version', async () => {
  const { id } = await issueKey(harness, vendor)
  const first = await ask('POST', `/v1/keys/${id}/revoke`, { token: live, body: { reason: 'leaked' } })
  const version = await versionOf(vendor.projectId)
  clock.advance(1000)
  const second = await ask('POST', `/v1/keys/${id}/revoke`, { token: live, body: { reason: 'again' } })
  assert.deepEqual(second.body, first.body)
  assert.equal(second.body.revoked_reason, 'leaked')
  assert.deepEqual(await actionsOf(id), ['api_key.created', 'api_key.revoked'])
  assert.equal(await versionOf(vendor.projectId), version)
})

test('revoke with wait returns the version, acknowledged when there are no nodes', async () => {
  const { id } = await issueKey(harness, vendor)
  const { body } = await ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: live })
  const version = await versionOf(vendor.projectId)
  const { waited_ms, ...propagation } = body.propagation
  assert.ok(Number.isInteger(waited_ms))
  assert.deepEqual(propagation, {
    acknowledged: true,
    version,
    nodes: 0,
    nodes_acknowledged: 0,
    pending: [],
  })
  await issueKey(harness, vendor)
  const again = await ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: live })
  assert.equal(again.body.propagation.version, version)
})

test('a list is newest first, can be filtered, and pages without gaps or duplicates', async () => {
  const tenant = await ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug() } })
  const tenant_id = tenant.body.id
  const ids: string[] = []
  for (let i = 0; i < 7; i++)
    ids.unshift((await issueKey(harness, vendor, { tenant_id, env: i % 2 ? 'live' : 'test' })).id)
  await ask('POST', `/v1/keys/${ids[0]}/revoke`, { token: live })

  const walked: string[] = []
  let cursor: string | null = null
  do {
    const next: string = cursor === null ? '' : `&cursor=${cursor}`
    const { body } = await ask('GET', `/v1/keys?tenant_id=${tenant_id}&include_revoked=true&limit=3${next}`, {
      token: live,
    })
    walked.push(...body.data.map((key: { id: string }) => key.id))
    assert.equal(body.has_more, body.next_cursor !== null)
    cursor = body.next_cursor
  } while (cursor !== null)
  assert.deepEqual(walked, ids)

  const idsOf = async (filter: string, token = live) =>
    (await ask('GET', `/v1/keys?tenant_id=${tenant_id}&${filter}`, { token })).body.data.map(
      (key: { id: string }) => key.id,
    )
  assert.deepEqual(await idsOf(''), ids.slice(1))
  assert.deepEqual(
    await idsOf('env=live'),
    ids.filter((_, i) => i % 2 === 1),
  )
  assert.deepEqual(
    await idsOf('', vendor.test),
    ids.filter((_, i) => i > 0 && i % 2 === 0),
  )
  assert.deepEqual(await idsOf(`project_id=${vendor.projectId}`), ids.slice(1))
  assert.deepEqual(await idsOf(`project_id=${tenant_id}`), [])
})

test('a test credential cannot see, change or create live keys', async () => {
  const { id } = await issueKey(harness, vendor)
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['POST', '/rotate'],
    ['POST', '/revoke'],
  ] as const) {
    const { body } = await ask(method, `/v1/keys/${id}${path}`, {
      token: vendor.test,
      ...(method === 'PATCH' && { body: { name: 'x' } }),
    })
    assert.equal(body.code, 'not_found', `${method} ${path}`)
  }
  const created = await ask('POST', '/v1/keys', {
    token: vendor.test,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
  })
  assert.equal(created.body.code, 'env_mismatch')
  assert.equal((await ask('GET', '/v1/keys?env=live', { token: vendor.test })).body.code, 'env_mismatch')
})

test('the database clock, not the process clock, decides whether a key has expired', async () => {
  const expires_at = '2031-01-01T00:00:00.000Z'
  const { id } = await issueKey(harness, vendor, { expires_at })
  await harness.setStoreTime(new Date(Date.parse(expires_at)))
  try {
    assert.equal((await ask('POST', `/v1/keys/${id}/rotate`, { token: live })).status, 409)
    await harness.setStoreTime(new Date(Date.parse(expires_at) - 1))
    assert.equal((await ask('POST', `/v1/keys/${id}/rotate`, { token: live })).status, 200)
  } finally {
    await harness.setStoreTime(null)
  }
})
