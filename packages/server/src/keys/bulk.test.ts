import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { bulkStage } from '../../test/bulk-stage.ts'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeProject, makeSecretKey, makeTenant, makeVendor, type Vendor } from '../../test/vendor.ts'
import { manyAMinute } from './turns.ts'

const harness = await startHarness()
const { ask, query, clock } = harness
const { change, count, get, issueMany, stateOf, isWhole } = bulkStage(harness)
const audited = async (ids: readonly string[], action: string) =>
  (
    await query(
      'select target_id, actor_id, payload from audit_logs where target_id = any($1) and action = $2 order by seq',
      [ids, action],
    )
  ).map(row => ({ ...row, payload: JSON.parse(row.payload) }))
const versionOf = async (vendor: Vendor) => (await askFeed(harness)(vendor, 'snapshot')).body.version

test('keys that are named are paused together: one version, an audit row each', async () => {
  const vendor = await makeVendor(harness)
  const ids = await issueMany(vendor, 3)
  const version = await versionOf(vendor)
  const { status, body } = await change(vendor, 'disable', { ids, reason: 'unpaid' })
  assert.equal(status, 200)
  assert.deepEqual(
    [body.object, body.action, body.status, body.matched, body.done, body.failed, body.failures],
    ['bulk_operation', 'disable', 'done', 3, 3, 0, []],
  )
  assert.equal(await versionOf(vendor), version + 1)
  const rows = await audited(ids, 'api_key.disabled')
  const bulk = { id: body.id, batch: 1 }
  assert.deepEqual(
    rows.map(row => [row.target_id, row.actor_id, row.payload]),
    ids.toSorted().map(id => [id, vendor.liveId, { reason: 'unpaid', disabled_by: 'vendor', bulk }]),
  )
  const key = await get(vendor, ids[0] ?? '')
  assert.deepEqual([key.disabled_reason, key.disabled_by], ['unpaid', 'vendor'])
  const { body: read } = await ask('GET', `/v1/keys/bulk/${body.id}`, { token: vendor.live })
  assert.deepEqual(read, body)

  const again = await change(vendor, 'disable', { ids: [...ids, ids[0]?.toUpperCase()] })
  assert.deepEqual([again.body.matched, again.body.done, again.body.failed], [3, 3, 0])
  assert.equal((await audited(ids, 'api_key.disabled')).length, 3)
  const resumed = await change(vendor, 'enable', { ids })
  assert.equal(resumed.body.done, 3)
  assert.equal((await get(vendor, ids[0] ?? '')).disabled_at, null)
  const revoked = await change(vendor, 'revoke', { ids, reason: 'over' })
  assert.equal(revoked.body.done, 3)
  assert.equal((await get(vendor, ids[0] ?? '')).revoked_reason, 'over')
  assert.equal(await versionOf(vendor), version + 3)
  await isWhole(vendor)
})

test('an id that is missing or of another workspace fails alone, without telling which', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const [own = '', ended = ''] = await issueMany(vendor, 2)
  const [foreign = ''] = await issueMany(other, 1)
  const missing = randomUUID()
  await ask('POST', `/v1/keys/${ended}/revoke`, { token: vendor.live })
  const ids = [own, ended, foreign, missing]
  const { body } = await change(vendor, 'disable', { ids })
  assert.deepEqual([body.matched, body.done, body.failed], [4, 1, 3])
  assert.deepEqual(body.failures, [
    { key_id: foreign, code: 'not_found' },
    { key_id: missing, code: 'not_found' },
    { key_id: ended, code: 'key_not_active' },
  ])
  assert.equal((await get(other, foreign)).disabled_at, null)
  // A revoked key is revoked already.
  const { body: revoked } = await change(vendor, 'revoke', { ids: [own, ended, foreign] })
  assert.deepEqual([revoked.done, revoked.failed, revoked.failures[0].key_id], [2, 1, foreign])
  assert.equal((await audited([ended], 'api_key.revoked')).length, 1)
  await isWhole(vendor)
})

test('a filter changes what it matches if the count is the one expected, and else nothing', async () => {
  const vendor = await makeVendor(harness)
  const tenant = await makeTenant(harness, vendor)
  const ids = await issueMany(vendor, 3, { tenant_id: tenant.id, name: 'CI' })
  await issueMany(vendor, 2)
  const [test = ''] = await issueMany(vendor, 1, { tenant_id: tenant.id, env: 'test' })
  const filter = { tenant_id: tenant.id.toUpperCase(), env: 'live' }
  assert.equal(await count(vendor, 'disable', filter), 3)
  const refused = await change(vendor, 'disable', { filter, expect: 2 })
  assert.deepEqual([refused.status, refused.body.code], [409, 'count_changed'])
  assert.match(refused.body.detail, /\b3\b/)
  assert.equal((await stateOf(vendor)).paused, 0)

  await change(vendor, 'disable', { ids: ids.slice(0, 1) })
  assert.deepEqual(
    await Promise.all((['revoke', 'disable', 'enable'] as const).map(verb => count(vendor, verb, filter))),
    [3, 2, 1],
  )
  const paused = await change(vendor, 'disable', { filter, expect: 2 })
  assert.deepEqual([paused.status, paused.body.matched, paused.body.done], [200, 2, 2])
  const resumed = await change(vendor, 'enable', { filter, expect: 3 })
  assert.equal(resumed.body.done, 3)
  const revoked = await change(vendor, 'revoke', { filter: { name: 'CI' }, expect: 3 })
  assert.equal(revoked.body.done, 3)
  assert.equal((await get(vendor, test)).revoked_at, null)
  assert.equal((await stateOf(vendor)).revoked, 3)
  await isWhole(vendor)
})

test('filters by time take keys made before, and those not used since', async () => {
  const vendor = await makeVendor(harness)
  const [never = '', used = '', late = ''] = await issueMany(vendor, 3)
  const day = 86_400_000
  const set = (id: string, created: number, lastUsed: number | null) =>
    query(
      `update api_keys set created_at = to_timestamp($2::bigint / 1000.0), last_used_at = to_timestamp($3::bigint / 1000.0),
         idle_since = to_timestamp(coalesce($3::bigint, $2::bigint) / 1000.0) where id = $1`,
      [id, created, lastUsed],
    )
  const now = clock.now()
  await set(never, now - 9 * day, null)
  await set(used, now - 9 * day, now - day)
  await set(late, now - day, null)
  const time = new Date(now - 2 * day).toISOString()
  assert.equal(await count(vendor, 'revoke', { created_before: time }), 2)
  assert.equal(await count(vendor, 'revoke', { unused_since: time }), 1)
  const { body } = await change(vendor, 'revoke', { filter: { unused_since: time }, expect: 1 })
  assert.equal(body.done, 1)
  assert.notEqual((await get(vendor, never)).revoked_at, null)
  assert.equal((await get(vendor, used)).revoked_at, null)
})

test('a call without keys, or with both kinds, is refused with its path', async () => {
  const vendor = await makeVendor(harness)
  const ids = [randomUUID()]
  const cases: [object, string][] = [
    [{}, 'ids'],
    [{ ids: [] }, 'ids'],
    [{ ids: Array.from({ length: 201 }, () => randomUUID()) }, 'ids'],
    [{ ids: ['x'] }, 'ids.0'],
    [{ ids, filter: { env: 'live' }, expect: 1 }, 'filter'],
    [{ ids, expect: 1 }, 'expect'],
    [{ filter: { env: 'live' } }, 'filter'],
    [{ filter: {}, expect: 0 }, 'filter'],
    [{ filter: { status: 'active' }, expect: 0 }, 'filter.status'],
    [{ filter: { env: 'live' }, expect: -1 }, 'expect'],
  ]
  for (const [body, path] of cases) {
    const refused = await change(vendor, 'revoke', body)
    assert.deepEqual([refused.status, refused.body.errors?.[0].path], [400, path], JSON.stringify(body))
  }
  assert.equal((await change(vendor, 'enable', { ids, reason: 'x' })).status, 400)
})

test('a limited key and a test credential change and count only what they see', async () => {
  const vendor = await makeVendor(harness)
  const other = await makeProject(harness, vendor)
  const bound = (await makeSecretKey(harness, vendor, { project_ids: [other.id] })).key
  const [own = ''] = await issueMany({ ...vendor, projectId: other.id }, 1)
  const [hidden = ''] = await issueMany(vendor, 1)
  const [tested = ''] = await issueMany(vendor, 1, { env: 'test' })
  const filter = { tenant_id: vendor.tenantId }
  assert.equal(await count(vendor, 'revoke', filter), 3)
  assert.equal(await count(vendor, 'revoke', filter, bound), 1)
  assert.equal(await count(vendor, 'revoke', { project_id: vendor.projectId }, bound), 0)
  assert.equal(await count(vendor, 'revoke', filter, vendor.test), 1)
  const live = await change(vendor, 'disable', { filter: { env: 'live' }, expect: 2 }, { token: vendor.test })
  assert.deepEqual([live.status, live.body.code], [403, 'env_mismatch'])

  const whole = (await change(vendor, 'disable', { filter, expect: 3 })).body
  for (const token of [bound, vendor.test])
    assert.equal((await ask('GET', `/v1/keys/bulk/${whole.id}`, { token })).status, 404)
  const resumed = await change(vendor, 'enable', { filter, expect: 1 }, { token: bound })
  assert.equal((await get(vendor, own)).disabled_at, null)
  assert.equal((await ask('GET', `/v1/keys/bulk/${resumed.body.id}`, { token: bound })).status, 200)
  const { body } = await change(vendor, 'revoke', { ids: [own, hidden] }, { token: bound })
  assert.deepEqual(body.failures, [{ key_id: hidden, code: 'not_found' }])
  const { body: byTest } = await change(vendor, 'enable', { ids: [hidden, tested] }, { token: vendor.test })
  assert.deepEqual(byTest.failures, [{ key_id: hidden, code: 'not_found' }])
  assert.equal((await get(vendor, tested)).disabled_at, null)
  await isWhole(vendor)
})

test('deletions, rotations and revocations meet a change of many keys, and all is whole', async () => {
  const vendor = await makeVendor(harness)
  const tenant = await makeTenant(harness, vendor)
  const ids = await issueMany(vendor, 6, { tenant_id: tenant.id })
  const one = (id = '', verb = 'revoke') => ask('POST', `/v1/keys/${id}/${verb}`, { token: vendor.live })
  const answers = await Promise.all([
    change(vendor, 'disable', { ids }),
    one(ids[0]),
    one(ids[1], 'rotate'),
    one(ids[2], 'disable'),
    change(vendor, 'enable', { ids }),
    change(vendor, 'revoke', { ids: ids.slice(3) }),
    ask('DELETE', `/v1/tenants/${tenant.id}`, { token: vendor.live }),
  ])
  for (const { status } of answers) assert.ok([200, 201, 404, 409].includes(status), String(status))
  await isWhole(vendor)
})

test('changes and counts of many keys share the turns of a credential', async () => {
  const vendor = await makeVendor(harness)
  const { key: token } = await makeSecretKey(harness, vendor)
  const filter = { tenant_id: vendor.tenantId }
  const counted = () => ask('POST', '/v1/keys/count', { token, body: { action: 'revoke', filter } })
  for (let taken = 1; taken < manyAMinute; taken++) assert.equal((await counted()).status, 200)
  const body = { filter, expect: 0 }
  assert.equal((await ask('POST', '/v1/keys/revoke', { token, body })).status, 200)
  for (const refused of [await counted(), await ask('POST', '/v1/keys/revoke', { token, body })])
    assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_requests'])
  clock.skip(60_000)
  assert.equal((await counted()).status, 200)
})

test('a repeat that waits, waits for nodes that have not heard of the first call', async () => {
  const vendor = await makeVendor(harness)
  const feed = askFeed(harness)
  const ids = await issueMany(vendor, 2)
  const version = await versionOf(vendor)
  await feed(vendor, 'delta', `&node=a&since=${version}`)
  await change(vendor, 'revoke', { ids })
  const { body } = await ask('POST', '/v1/keys/revoke?wait=true', { token: vendor.live, body: { ids } })
  assert.deepEqual([body.done, body.propagation.acknowledged, body.propagation.nodes], [2, false, 1])
})

test('a filter pauses what a tenant paused too, which then only the vendor resumes', async () => {
  const vendor = await makeVendor(harness)
  const [id = ''] = await issueMany(vendor, 1)
  await query(`update api_keys set disabled_at = now(), disabled_by = 'tenant' where id = $1`, [id])
  const filter = { tenant_id: vendor.tenantId }
  assert.equal((await change(vendor, 'disable', { filter, expect: 1 })).status, 200)
  assert.equal((await get(vendor, id)).disabled_by, 'vendor')
})
