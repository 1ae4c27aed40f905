import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { bulkStage } from '../../test/bulk-stage.ts'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor, type Vendor } from '../../test/vendor.ts'
import { sql } from '../platform/db/connection.ts'
import { changeNextBatch } from './bulks.ts'
import { keys } from './room.ts'

const harness = await startHarness()
const { ask, query, clock, deps } = harness
const { change, get, issueMany, fill, stateOf, done } = bulkStage(harness)
const versionOf = async (vendor: Vendor) => (await askFeed(harness)(vendor, 'snapshot')).body.version

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

test('a key that the vendor pauses while an operation resumes others stays paused', async () => {
  const vendor = await makeVendor(harness)
  await fill(vendor, 2)
  await query(
    `update api_keys set disabled_at = to_timestamp($2::bigint / 1000.0), disabled_by = 'tenant' where workspace_id = $1`,
    [vendor.workspaceId, clock.now()],
  )
  const [{ id: key }] = await query('select id from api_keys where workspace_id = $1', [vendor.workspaceId])
  const id = randomUUID()
  await query(
    `insert into bulk_operations (workspace_id, id, action, actor_type, actor_id, envs, filter, matched, created_at,
       leased_until)
     values ($1, $2, 'enable', 'secret_key', $3, '{live}', '{"env": "live"}', 2, to_timestamp($4::bigint / 1000.0),
       service_now() + interval '1 hour')`,
    [vendor.workspaceId, id, vendor.liveId, clock.now()],
  )
  clock.advance(1_000)
  assert.equal((await change(vendor, 'disable', { ids: [key] })).status, 200)
  await harness.db.inWorkspace(vendor.workspaceId, tx => changeNextBatch(deps, tx, id))
  assert.equal((await stateOf(vendor)).paused, 1)
  assert.equal((await get(vendor, key)).disabled_by, 'vendor')
})

test('an operation that changed keys in more than 200 places names none, and goes on', async () => {
  const vendor = await makeVendor(harness)
  await issueMany(vendor, 1)
  const id = randomUUID()
  await query(
    `insert into bulk_operations (workspace_id, id, action, actor_type, envs, filter, matched, created_at, leased_until, places)
     select $1, $2, 'revoke', 'bootstrap', '{live}', '{"env": "live"}', 1, to_timestamp($3::bigint / 1000.0),
       service_now() + interval '1 hour', array_agg(gen_random_uuid() || ' live') from generate_series(1, 200)`,
    [vendor.workspaceId, id, clock.now()],
  )
  await harness.db.inWorkspace(vendor.workspaceId, tx => changeNextBatch(deps, tx, id))
  const [row] = await query('select places, done, finished_at from bulk_operations where id = $1', [id])
  assert.deepEqual([row.places, row.done, row.finished_at !== null], [null, 1, true])
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

test('a record of an operation is deleted seven days after its end', async () => {
  const vendor = await makeVendor(harness)
  const ids = await issueMany(vendor, 1)
  const { body } = await change(vendor, 'disable', { ids })
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

test('an operation keeps the rule of when it began, and the release before never gets it', async () => {
  const vendor = await makeVendor(harness)
  const day = 86_400_000
  await fill(vendor, 251, clock.now() - 50 * day)
  const [{ id: kept }] = await query(
    'select max(id::text)::uuid as id from api_keys where workspace_id = $1',
    [vendor.workspaceId],
  )
  await query(`update api_keys set created_at = created_at + interval '30 days' where id = $1`, [kept])
  const rule = (days: number) =>
    ask('PATCH', `/v1/projects/${vendor.projectId}`, {
      token: vendor.live,
      body: { max_key_lifetime_days: days },
    })
  await rule(40)
  const filter = { project_id: vendor.projectId, hygiene: 'too_old' }
  const paused = await change(vendor, 'disable', { filter, expect: 250 })
  assert.equal((await done(vendor, paused.body.id))?.done, 250)
  const [{ filter: stored }] = await query('select filter from bulk_operations where id = $1', [
    paused.body.id,
  ])
  assert.deepEqual(stored, { ...filter, days: 40 })
  await rule(10)

  await query('update api_keys set disabled_at = null, disabled_by = null where workspace_id = $1', [
    vendor.workspaceId,
  ])
  const id = randomUUID()
  await query(
    `insert into bulk_operations (workspace_id, id, action, actor_type, actor_id, envs, filter, matched, created_at,
       leased_until)
     values ($1, $2, 'revoke', 'secret_key', $3, '{live}', $4, 250, to_timestamp($5::bigint / 1000.0),
       service_now() + interval '1 hour')`,
    [vendor.workspaceId, id, vendor.liveId, JSON.stringify(stored), clock.now()],
  )
  await harness.db.inWorkspace(vendor.workspaceId, async tx => {
    // Until the commit, no process takes the operation up.
    tx.send(sql('test.release', 'update bulk_operations set leased_until = null where id = $1'), [id])
    const idsOf = async (name: string) =>
      (await tx.query<{ id: string }>(sql(`test.${name}`, `select id from ${name}(20)`), [])).map(
        row => row.id,
      )
    assert.deepEqual([await idsOf('next_bulk_operations'), await idsOf('next_bulks')], [[], [id]])
  })
  await deps.bulks.resume()
  assert.equal((await done(vendor, id))?.done, 250)
  assert.equal((await get(vendor, kept)).revoked_at, null)
})
