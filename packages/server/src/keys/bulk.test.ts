import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import {
  issueKey,
  makeProject,
  makeSecretKey,
  makeTenant,
  makeVendor,
  type Vendor,
} from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'
import { changeNextBatch } from './bulks.ts'

const harness = await startHarness()
const { ask, query, clock, deps } = harness

type Verb = 'revoke' | 'disable' | 'enable'
const change = (
  vendor: Vendor,
  verb: Verb,
  body: object,
  more: { token?: string; query?: string; key?: string } = {},
) =>
  ask('POST', `/v1/keys/${verb}${more.query ?? ''}`, {
    token: more.token ?? vendor.live,
    body,
    ...(more.key !== undefined && { headers: { 'idempotency-key': more.key } }),
  })
const count = async (vendor: Vendor, action: Verb, filter: object, token = vendor.live) =>
  (await ask('POST', '/v1/keys/count', { token, body: { action, filter } })).body.count
const get = async (vendor: Vendor, id: string) =>
  (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body
const issueMany = async (vendor: Vendor, most: number, more: object = {}): Promise<string[]> => {
  const ids: string[] = []
  for (let made = 0; made < most; made += 1)
    ids.push((await issueKey(harness, vendor, more as Record<string, unknown>)).id)
  return ids
}
const audited = async (ids: readonly string[], action: string) =>
  (
    await query(
      'select target_id, actor_id, payload from audit_logs where target_id = any($1) and action = $2 order by seq',
      [ids, action],
    )
  ).map(row => ({ ...row, payload: JSON.parse(row.payload) }))
const versionOf = async (vendor: Vendor) => (await askFeed(harness)(vendor, 'snapshot')).body.version
const isWhole = async (vendor: Vendor) => assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])

/** Keys that are made past the service, with all that the service writes beside them. */
async function fill(vendor: Vendor, most: number): Promise<void> {
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at, updated_at)
     select $1::uuid, (lpad(to_hex($5::bigint), 12, '0') || '7' || lpad(to_hex(n), 3, '0') || '8' || substr(md5($1::text || n::text), 1, 15))::uuid,
       $2::uuid, $3::uuid, 'live', 'filled', 'kr_live_abcd', sha256(($1::text || n::text)::bytea), to_timestamp($5::bigint / 1000.0),
       to_timestamp($5::bigint / 1000.0) from generate_series(1, $4::int) n`,
    [vendor.workspaceId, vendor.projectId, vendor.tenantId, most, clock.now()],
  )
}
const stateOf = async (vendor: Vendor) =>
  (
    await query(
      `select count(*)::int as all, count(revoked_at)::int as revoked, count(disabled_at)::int as paused
       from api_keys where workspace_id = $1`,
      [vendor.workspaceId],
    )
  )[0]
const done = async (vendor: Vendor, id: string) => {
  let body: { status: string; done: number; matched: number } | undefined
  await until(async () => {
    body = (await ask('GET', `/v1/keys/bulk/${id}`, { token: vendor.live })).body
    return body?.status === 'done'
  })
  return body
}

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

test('more than 200 keys change in batches after the answer, one version a batch', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 450)
  const version = await versionOf(vendor)
  const filter = { tenant_id: vendor.tenantId }
  const { status, body } = await change(vendor, 'disable', { filter, expect: 450, reason: 'attack' })
  assert.deepEqual(
    [status, body.status, body.matched, body.done, body.finished_at],
    [200, 'running', 450, 0, null],
  )
  const ended = await done(vendor, body.id)
  assert.deepEqual([ended?.matched, ended?.done], [450, 450])
  assert.equal((await stateOf(vendor)).paused, 450)
  assert.equal(await versionOf(vendor), version + 3)
  const rows = await query(
    `select payload::json->'bulk'->>'batch' as batch, count(*)::int as rows from audit_logs
     where workspace_id = $1 and action = 'api_key.disabled' and actor_id = $2 and payload::json->'bulk'->>'id' = $3
     group by 1 order by 1`,
    [vendor.workspaceId, vendor.liveId, body.id],
  )
  assert.deepEqual(rows, [
    { batch: '1', rows: 200 },
    { batch: '2', rows: 200 },
    { batch: '3', rows: 50 },
  ])
})

test('what a killed process leaves goes on, and keys made since are left out', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 450)
  const id = randomUUID()
  // As a process leaves it that accepted the call, did one batch and was killed.
  await query(
    `insert into bulk_operations (workspace_id, id, action, actor_type, actor_id, envs, filter, matched, created_at,
       tried_at, leased_until)
     values ($1, $2, 'revoke', 'secret_key', $3, '{live,test}', $4, 450, to_timestamp($5::bigint / 1000.0),
       service_now(), service_now() + interval '1 hour')`,
    [vendor.workspaceId, id, vendor.liveId, JSON.stringify({ tenant_id: vendor.tenantId }), clock.now()],
  )
  const batch = () => harness.db.inWorkspace(vendor.workspaceId, tx => changeNextBatch(deps, tx, id))
  assert.equal(await batch(), true)
  assert.equal((await stateOf(vendor)).revoked, 200)
  clock.advance(1_000)
  const [later = ''] = await issueMany(vendor, 1)
  // Its lease lasts: no other process takes the operation up.
  await deps.bulks.resume()
  assert.equal((await stateOf(vendor)).revoked, 200)
  await query('update bulk_operations set leased_until = service_now() where id = $1', [id])
  await deps.bulks.resume()
  const ended = await done(vendor, id)
  assert.deepEqual([ended?.done, (await stateOf(vendor)).revoked], [450, 450])
  assert.equal((await get(vendor, later)).revoked_at, null)
  assert.equal(await batch(), false)
})

test('a call that waits is answered once the last batch is done and nodes have it', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 250)
  const ids = await issueMany(vendor, 1)
  const one = await change(vendor, 'disable', { ids }, { query: '?wait=true' })
  assert.deepEqual(
    [one.body.status, one.body.propagation.acknowledged, one.body.propagation.nodes],
    ['done', true, 0],
  )
  const filter = { project_id: vendor.projectId }
  const all = await change(vendor, 'revoke', { filter, expect: 251 }, { query: '?wait=true' })
  assert.deepEqual(
    [all.body.status, all.body.done, all.body.propagation.acknowledged],
    ['done', 251, true],
    JSON.stringify(all.body),
  )
})

test('a repeated Idempotency-Key changes nothing, and shows how far the operation is', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 250)
  const body = { filter: { env: 'live' }, expect: 250 }
  const first = await change(vendor, 'disable', body, { key: 'once' })
  await done(vendor, first.body.id)
  const again = await change(vendor, 'disable', body, { key: 'once' })
  assert.deepEqual([again.status, again.body.id, again.body.status], [200, first.body.id, 'done'])
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.equal(
    (await query('select from bulk_operations where workspace_id = $1', [vendor.workspaceId])).length,
    1,
  )
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

test('a workspace has at most five operations that run', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 250)
  await query(
    `insert into bulk_operations (workspace_id, id, action, actor_type, envs, filter, matched, created_at, leased_until)
     select $1, gen_random_uuid(), 'revoke', 'bootstrap', '{live}', '{"env": "live"}', 0, now(), service_now() + interval '1 hour'
     from generate_series(1, 5)`,
    [vendor.workspaceId],
  )
  const refused = await change(vendor, 'disable', { filter: { env: 'live' }, expect: 250 })
  assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_requests'])
  assert.equal((await stateOf(vendor)).paused, 0)
  // One that is done at once is no such operation.
  const few = await change(vendor, 'disable', { filter: { env: 'test' }, expect: 0 })
  assert.deepEqual([few.status, few.body.status], [200, 'done'])
})

test('a deletion of the tenant, rotations and revocations meet a change of many, and all is whole', async () => {
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

test('a record of an operation is deleted seven days after its end', async () => {
  const vendor = await makeVendor(harness)
  const ids = await issueMany(vendor, 1)
  const { body } = await change(vendor, 'disable', { ids })
  const { keys } = await import('./room.ts')
  const chore = keys.chores().find(({ name }) => name === 'bulk operations')
  const prune = () =>
    chore?.run({
      query: async (text: string, values: unknown[]) => ({
        rowCount: (await query(`${text} returning id`, values)).length,
      }),
    } as never)
  await prune()
  assert.equal((await ask('GET', `/v1/keys/bulk/${body.id}`, { token: vendor.live })).status, 200)
  await query(`update bulk_operations set finished_at = service_now() - interval '8 days' where id = $1`, [
    body.id,
  ])
  await prune()
  assert.equal((await ask('GET', `/v1/keys/bulk/${body.id}`, { token: vendor.live })).status, 404)
})
