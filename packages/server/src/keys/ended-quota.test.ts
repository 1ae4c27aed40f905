import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import {
  issueKey,
  makeProject,
  makeSecretKey,
  makeVendor,
  uniqueSlug,
  type Vendor,
} from '../../test/vendor.ts'
import { createEndedQuota } from './ended-quota.ts'

/** At most 30 ended keys in each place. */
const harness = await startHarness({ maxActiveKeysPerTenant: 3, embedMaxActiveKeys: 1 })
const { ask, query } = harness
const past = '2020-01-01T00:00:00Z'

/** A vendor, and an admin’s secret key as a thief has it. */
async function makeStage() {
  const vendor = await makeVendor(harness)
  return { vendor, thief: await makeAdmin(vendor) }
}
/** An admin cannot make an owner’s key, and an owner’s key makes owner’s keys; so the row is changed. */
async function makeAdmin(vendor: Vendor) {
  const key = await makeSecretKey(harness, vendor)
  await query(`update secret_keys set role = 'admin' where id = $1`, [key.id])
  return key as { id: string; key: string }
}
const create = (vendor: Vendor, token: string, more: object = {}) =>
  ask('POST', '/v1/keys', {
    token,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', ...more },
  })
const endedOf = async ({ workspaceId }: Vendor, more = '') =>
  (
    await query(
      `select id from api_keys where workspace_id = $1 and (revoked_at is not null or expires_at <= service_now()) ${more}`,
      [workspaceId],
    )
  ).map(({ id }) => id as string)
/** Copies a key that has ended, without the changes that nodes read. */
const copy = (id: string, count: number) =>
  query(
    `insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, display_prefix, expires_at, created_at,
       updated_at, made_by, embedded_at)
     select workspace_id, sha256((id::text || n)::bytea), gen_random_uuid(), project_id, tenant_id, env, display_prefix,
       expires_at - n * interval '1 second', now(), now(), made_by, embedded_at - interval '2 minutes'
     from api_keys, generate_series(1, $2::int) n where id = $1`,
    [id, count],
  )

test('at the cap of ended keys the oldest of the same maker make room, and no other’s', async () => {
  const { vendor, thief } = await makeStage()
  const first = await issueKey(harness, vendor, { expires_at: past })
  const made = await create(vendor, thief.key, { expires_at: past })
  await copy(made.body.id, 28)
  assert.equal((await create(vendor, thief.key)).status, 201)
  assert.ok((await endedOf(vendor)).includes(first.id))
  assert.deepEqual(await endedOf(vendor, `and made_by <> '${vendor.liveId}'`), [])
  const gone = await ask('GET', `/v1/keys/${made.body.id}`, { token: vendor.live })
  assert.equal(gone.status, 404)
  const [{ left }] = await query('select count(*)::int as left from credentials where id = $1', [
    made.body.id,
  ])
  assert.equal(left, 0)
})

test('what a revoked secret key made makes room before what the maker itself made', async () => {
  const { vendor, thief } = await makeStage()
  const stolen = await create(vendor, thief.key, { expires_at: past })
  await copy(stolen.body.id, 14)
  const other = await makeAdmin(vendor)
  const own = await create(vendor, other.key, { expires_at: past })
  await copy(own.body.id, 14)
  await ask('POST', `/v1/secret_keys/${thief.id}/revoke`, { token: vendor.live })
  assert.equal((await create(vendor, other.key)).status, 201)
  assert.deepEqual(await endedOf(vendor, `and made_by = '${thief.id}'`), [])
  assert.equal((await endedOf(vendor)).length, 15)
})

test('a maker without ended keys takes the place of one other, the oldest', async () => {
  const { vendor, thief } = await makeStage()
  const made = await create(vendor, thief.key, { expires_at: past })
  await copy(made.body.id, 29)
  assert.equal((await create(vendor, vendor.live)).status, 201)
  const left = await endedOf(vendor)
  assert.ok(left.length === 29 && left.includes(made.body.id))
})

test('embed tokens, a test key and a key of another project fill their own places', async () => {
  const { vendor } = await makeStage()
  const project = await makeProject(harness, vendor)
  const bound = await makeSecretKey(harness, vendor, { project_ids: [project.id] })
  const token = await mintToken(harness, vendor)
  const made = [
    (await create(vendor, vendor.test, { env: 'test', expires_at: past })).body.id,
    (await create(vendor, bound.key, { project_id: project.id, expires_at: past })).body.id,
    (await ask('POST', '/v1/embed/keys', { token })).body.id,
  ]
  await ask('POST', `/v1/embed/keys/${made[2]}/revoke`, { token })
  for (const id of made) await copy(id, 40)
  await query('update api_keys set revoked_at = now() where workspace_id = $1 and embedded_at is not null', [
    vendor.workspaceId,
  ])
  const before = await endedOf(vendor)
  const kept = await create(vendor, vendor.live)
  assert.equal(kept.status, 201)
  assert.deepEqual(await endedOf(vendor), before)
})

test('active keys of test, another project or embed tokens leave the room of live ones', async () => {
  const { vendor } = await makeStage()
  const project = await makeProject(harness, vendor)
  for (let i = 0; i < 3; i++) {
    assert.equal((await create(vendor, vendor.test, { env: 'test' })).status, 201)
    assert.equal((await create(vendor, vendor.live, { project_id: project.id })).status, 201)
  }
  await ask('POST', '/v1/embed/keys', { token: await mintToken(harness, vendor) })
  for (let i = 0; i < 3; i++) assert.equal((await create(vendor, vendor.live)).status, 201)
  assert.equal((await create(vendor, vendor.live)).body.code, 'key_limit_reached')
})

/** Ended keys that cannot be deleted, since their leaks are reported. */
async function fillForGood(vendor: Vendor) {
  const made = await issueKey(harness, vendor, { expires_at: past })
  await copy(made.id, 29)
  await query(
    `insert into leak_reports (workspace_id, credential_id, kind, display_prefix, reported_at)
     select workspace_id, id, 'api_key', display_prefix, now() from api_keys where workspace_id = $1`,
    [vendor.workspaceId],
  )
}

test('where none can be deleted a creation is refused, but not an owner’s, and no rotation', async () => {
  const { vendor, thief } = await makeStage()
  const { id } = await issueKey(harness, vendor)
  await fillForGood(vendor)
  const refused = await create(vendor, thief.key)
  assert.deepEqual([refused.status, refused.body.code], [409, 'key_limit_reached'])
  assert.match(refused.body.detail, /30 revoked or expired keys/)
  assert.equal((await create(vendor, vendor.live)).status, 201)
  for (const body of [{}, { overlap_hours: 0 }]) {
    const rotated = await ask('POST', `/v1/keys/${id}/rotate`, { token: thief.key, body })
    assert.notEqual(rotated.body.code, 'not_found')
    if (rotated.status !== 200) assert.match(rotated.body.detail, /3 active keys/)
  }
  const { status } = await ask('POST', '/v1/embed/keys', { token: await mintToken(harness, vendor) })
  assert.equal(status, 201)
})

test('a node that has not heard of a deleted key’s revocation gets a snapshot, never silence', async () => {
  const { vendor } = await makeStage()
  const { id } = await issueKey(harness, vendor)
  const url = (since: number) =>
    `/v1/policy/delta?project_id=${vendor.projectId}&env=live&since=${since}&node=n`
  const first = await ask('GET', `/v1/policy/snapshot?project_id=${vendor.projectId}&env=live&node=n`, {
    token: vendor.live,
  })
  await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  const deletion = await ask('DELETE', `/v1/keys/ended?tenant_id=${vendor.tenantId}`, { token: vendor.live })
  assert.deepEqual(deletion.body, { object: 'ended_keys_deletion', deleted: 1, has_more: true })
  const next = await ask('GET', url(first.body.version), { token: vendor.live })
  assert.deepEqual([next.body.object, next.body.keys], ['policy_snapshot', []])
  const after = await ask('GET', url(next.body.version), { token: vendor.live })
  assert.equal(after.body.object, 'policy_delta')
})

test('an owner deletes what has ended, batch by batch, and the log says how much', async () => {
  const { vendor, thief } = await makeStage()
  const kept = await issueKey(harness, vendor)
  const made = await create(vendor, thief.key, { expires_at: past })
  await copy(made.body.id, 600)
  const other = await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: uniqueSlug() } })
  await issueKey(harness, { ...vendor, tenantId: other.body.id }, { expires_at: past })
  const remove = (token: string) => ask('DELETE', `/v1/keys/ended?tenant_id=${vendor.tenantId}`, { token })
  assert.equal((await remove(thief.key)).body.code, 'owner_required')
  const answers = [await remove(vendor.live), await remove(vendor.live), await remove(vendor.live)]
  assert.deepEqual(
    answers.map(({ body }) => [body.deleted, body.has_more]),
    [
      [500, true],
      [101, true],
      [0, false],
    ],
  )
  assert.equal((await endedOf(vendor)).length, 1)
  assert.equal((await ask('GET', `/v1/keys/${kept.id}`, { token: vendor.live })).status, 200)
  const { body } = await ask('GET', '/v1/audit_logs?action=api_key.ended_deleted', { token: vendor.live })
  assert.deepEqual(
    body.data.map((row: { payload: { keys_deleted: object } }) => row.payload.keys_deleted),
    [
      { live: 500, test: 0 },
      { live: 101, test: 0 },
    ],
  )
})

test('a count of ended keys stands ten seconds where the room is wide, not where narrow', async () => {
  const { vendor } = await makeStage()
  await issueKey(harness, vendor, { expires_at: past })
  const wide = createEndedQuota({ maxActiveKeysPerTenant: 3_000, embedMaxActiveKeys: 1 }, harness.clock)
  const narrow = createEndedQuota({ maxActiveKeysPerTenant: 3, embedMaxActiveKeys: 1 }, harness.clock)
  const place = {
    tenant_id: vendor.tenantId,
    project_id: vendor.projectId,
    env: 'live',
    is_embedded: false,
  } as const
  const counts = (room: typeof wide) =>
    harness.db.inWorkspace(vendor.workspaceId, async tx => {
      const ended = await room.count(tx, place)
      await room.make(tx, place, { id: null, passes: false }, ended)
      return ended
    })
  assert.deepEqual([await counts(wide), await counts(wide)], [1, null])
  harness.clock.skip(10_000)
  assert.equal(await counts(wide), 1)
  assert.deepEqual([await counts(narrow), await counts(narrow)], [1, 1])
})
