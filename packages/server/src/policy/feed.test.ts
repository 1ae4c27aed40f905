import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness({ policyMaxWholeKeys: 12, policyMaxPageKeys: 5 })
const { ask, clock, query } = harness
const get = askFeed(harness)

test('a policy key has what a node needs, with the effective limits, and nothing else', async () => {
  const vendor = await makeVendor(harness)
  const rule = { id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'tenant' }
  const own = { ...rule, id: 'own' }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, {
    token: vendor.live,
    body: { default_rate_limits: [rule] },
  })
  const expires_at = new Date(clock.now() + 3_600_000).toISOString()
  const inherits = await issueKey(harness, vendor, { scopes: ['a', 'ü "\\ 😀'], expires_at, name: 'n' })
  const limited = await issueKey(harness, vendor, { rate_limits: [own] })
  const unlimited = await issueKey(harness, vendor, { rate_limits: [] })
  const { body } = await get(vendor, 'snapshot')
  const policyKey = (key: typeof inherits) => ({
    key_id: key.id,
    tenant_id: vendor.tenantId,
    env: 'live',
    lookup_hash: hash('sha256', key.key, 'base64'),
    display_prefix: key.display_prefix,
    scopes: key.scopes,
    expires_at: key.expires_at,
  })
  assert.deepEqual(body.keys, [
    { ...policyKey(inherits), rate_limits: [rule] },
    { ...policyKey(limited), rate_limits: [own] },
    policyKey(unlimited),
  ])
  const project = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  const { keys: _, ...head } = body
  assert.deepEqual(head, {
    object: 'policy_snapshot',
    workspace_id: vendor.workspaceId,
    project_id: vendor.projectId,
    env: null,
    version: project.body.policy_version,
    project_deleted: false,
    generated_at: new Date(clock.now()).toISOString(),
    next_cursor: null,
  })
})

test('a live key gets both environments or the requested one, a test key gets test', async () => {
  const vendor = await makeVendor(harness)
  const live = await issueKey(harness, vendor)
  const trial = await issueKey(harness, vendor, { env: 'test' })
  const seen = async (more: string, token: string) => {
    const { body } = await get(vendor, 'snapshot', more, {}, token)
    const delta = await get(vendor, 'delta', `&since=1${more}`, {}, token)
    assert.deepEqual([delta.body.env, changesOf(delta.body).map(([, id]) => id)], [body.env, idsOf(body)])
    return [body.env, idsOf(body)]
  }
  assert.deepEqual(await seen('', vendor.live), [null, [live.id, trial.id]])
  assert.deepEqual(await seen('&env=live', vendor.live), ['live', [live.id]])
  assert.deepEqual(await seen('&env=test', vendor.live), ['test', [trial.id]])
  assert.deepEqual(await seen('', vendor.test), ['test', [trial.id]])
  assert.deepEqual(await seen('&env=test', vendor.test), ['test', [trial.id]])
  const refused = await get(vendor, 'snapshot', '&env=live', {}, vendor.test)
  assert.deepEqual([refused.status, refused.body.code], [403, 'env_mismatch'])
})

test('tenant_id narrows both routes, and never returns the whole project without a match', async () => {
  const vendor = await makeVendor(harness)
  const other = (await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: 'other' } }))
    .body.id
  const gone = (await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: 'gone' } })).body
    .id
  const mine = await issueKey(harness, vendor)
  const others = await issueKey(harness, vendor, { tenant_id: other })
  await issueKey(harness, vendor, { tenant_id: gone })
  await ask('DELETE', `/v1/tenants/${gone}`, { token: vendor.live })
  const seen = async (tenants: string) => {
    const { body } = await get(vendor, 'snapshot', tenants)
    const delta = (await get(vendor, 'delta', `&since=1${tenants}`)).body
    const upserts = changesOf(delta).filter(([change]) => change === 'upsert')
    assert.deepEqual(
      upserts.map(([, id]) => id),
      idsOf(body),
    )
    return idsOf(body)
  }
  const { tenantId } = vendor
  assert.deepEqual(await seen(`&tenant_id=${tenantId}`), [mine.id])
  assert.deepEqual(await seen(`&tenant_id=${other}&tenant_id=${tenantId}`), [mine.id, others.id])
  assert.deepEqual(await seen(`&tenant_id=${other},${tenantId.toUpperCase()},${other}`), [mine.id, others.id])
  assert.deepEqual(await seen(`&tenant_id=${gone}`), [])
  assert.deepEqual(await seen(`&tenant_id=${randomUUID()}`), [])
  assert.deepEqual(await seen(`&tenant_id=${(await makeVendor(harness)).tenantId}`), [])
  const many = Array.from({ length: 49 }, () => randomUUID())
  assert.deepEqual(await seen(`&tenant_id=${[...many, other].join()}`), [others.id])
  // The tombstone of a deleted tenant's key goes to every node that may hold the key.
  const { body } = await get(vendor, 'delta', `&since=1&tenant_id=${gone}`)
  assert.deepEqual(
    body.changes.map(({ change, cause }: Record<string, string>) => [change, cause]),
    [['tombstone', 'deleted']],
  )
})

test('a delta has each changed key once, as it is now; an inactive key is a tombstone', async () => {
  const vendor = await makeVendor(harness)
  const [patched, revoked, expiring] = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
  ]
  const since = (await get(vendor, 'snapshot')).body.version
  const patch = (id: string, body: object) => ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body })
  await patch(patched.id, { scopes: ['a'] })
  await patch(patched.id, { scopes: ['b'] })
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: vendor.live })
  await patch(expiring.id, { expires_at: '2020-01-01T00:00:00Z' })
  const { body } = await get(vendor, 'delta', `&since=${since}`)
  assert.deepEqual(changesOf(body), [
    ['upsert', patched.id],
    ['tombstone', revoked.id],
    ['tombstone', expiring.id],
  ])
  assert.deepEqual(body.changes[0].scopes, ['b'])
  assert.deepEqual(body.changes[1], {
    change: 'tombstone',
    key_id: revoked.id,
    env: 'live',
    lookup_hash: hash('sha256', revoked.key, 'base64'),
    cause: 'revoked',
  })
  assert.equal(body.changes[2].cause, 'expired')
  assert.deepEqual([body.since, body.version], [since, since + 4])
  await patch(expiring.id, { expires_at: null })
  const renewed = (await get(vendor, 'delta', `&since=${body.version}`)).body
  assert.deepEqual(changesOf(renewed), [['upsert', expiring.id]])
  assert.deepEqual(idsOf((await get(vendor, 'snapshot')).body), [patched.id, expiring.id])
})

test('an expiring key causes no change, and an expired one is in no snapshot', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor, { expires_at: '2999-01-01T00:00:00Z' })
  const { version } = (await get(vendor, 'snapshot')).body
  await harness.setStoreTime(new Date('2999-01-01T00:00:00Z'))
  assert.deepEqual((await get(vendor, 'delta', `&since=${version}`)).body.changes, [])
  assert.deepEqual(idsOf((await get(vendor, 'snapshot', '&max_keys=1')).body), [])
  await harness.setStoreTime(null)
  assert.deepEqual(idsOf((await get(vendor, 'snapshot')).body), [key.id])
})

test('a delta from ahead, from below the floor or with too many changes is a snapshot', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  const { version } = (await get(vendor, 'snapshot')).body
  const outcome = async (since: number, more = '') =>
    (await get(vendor, 'delta', `&since=${since}${more}`)).body.object
  assert.equal(await outcome(version + 1), 'policy_snapshot')
  assert.equal(await outcome(0), 'policy_snapshot')
  for (let i = 0; i < 5; i++)
    await ask('PATCH', `/v1/keys/${key.id}`, { token: vendor.live, body: { scopes: [`s${i}`] } })
  assert.equal(await outcome(version), 'policy_delta')
  assert.equal(await outcome(version, '&max_keys=1'), 'policy_delta')
  assert.equal(await outcome(version - 1), 'policy_snapshot')
  const limits = {
    default_rate_limits: [{ id: 'a', limit: 1, window_ms: 1000, algorithm: 'fixed', scope: 'key' }],
  }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body: limits })
  const reseed = (await get(vendor, 'delta', `&since=${version + 5}`)).body
  assert.equal(reseed.object, 'policy_snapshot')
  assert.deepEqual(reseed.keys[0].rate_limits, limits.default_rate_limits)
  assert.equal(await outcome(reseed.version), 'policy_delta')
})

test('both routes return a deleted project without keys', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const { version } = (await get(vendor, 'snapshot')).body
  await ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  const { body } = await get(vendor, 'snapshot')
  assert.deepEqual([body.project_deleted, body.keys, body.version], [true, [], version + 1])
  for (const since of [version, version + 1, version + 2]) {
    const delta = (await get(vendor, 'delta', `&since=${since}`)).body
    assert.equal(delta.project_deleted, true)
    assert.deepEqual(delta.changes ?? delta.keys, [])
  }
})

test('an unchanged version is 304 only for the ETag of that version', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  for (const path of ['snapshot', 'delta'] as const) {
    const { version } = (await get(vendor, 'snapshot')).body
    const since = path === 'delta' ? `&since=${version}` : ''
    const { headers } = await get(vendor, path, since)
    const etag = headers.etag ?? ''
    assert.match(etag, /^W\/"/)
    for (const value of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
      const again = await get(vendor, path, since, { 'if-none-match': value })
      assert.deepEqual([again.status, again.body, again.headers.etag], [304, '', etag], `${path} ${value}`)
    }
    for (const value of ['W/"1-x"', '""', 'x', etag.slice(0, -2)]) {
      assert.equal((await get(vendor, path, since, { 'if-none-match': value })).status, 200, value)
    }
    const asTest = await get(vendor, path, since, { 'if-none-match': etag }, vendor.test)
    assert.equal(asTest.status, 200)
    const narrowed = await get(vendor, path, `${since}&tenant_id=${vendor.tenantId}`, {
      'if-none-match': etag,
    })
    assert.equal(narrowed.status, 200)
    await issueKey(harness, vendor)
    const changed = await get(vendor, path, since, { 'if-none-match': etag })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.etag, etag)
  }
})

test('a feed read writes no audit row and locks no head', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const heads = () => query('select * from audit_heads order by workspace_id')
  const before = await heads()
  await query('begin')
  try {
    await query('select from policy_heads for update')
    await query('select from audit_heads for update')
    assert.equal((await get(vendor, 'snapshot', '&node=a')).status, 200)
    assert.equal((await get(vendor, 'delta', '&since=1&node=a')).status, 200)
  } finally {
    await query('rollback')
  }
  assert.deepEqual(await heads(), before)
})
