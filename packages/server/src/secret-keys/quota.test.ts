import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'
import { makePerson } from '../../test/people.ts'
import { makeProject, makeSecretKey, makeVendor, type Vendor } from '../../test/vendor.ts'
import { buildApp } from '../app.ts'
import { openDeps } from '../deps.ts'

/** At most 100 ended secret keys in each place. */
const most = 10
const harness = await startHarness({ maxActiveSecretKeys: most })
const { ask, query } = harness
const { isAlive, revoke } = makersOf(harness)
const past = '2020-01-01T00:00:00Z'

const create = (token: string, more: object = {}) =>
  ask('POST', '/v1/secret_keys', { token, body: { env: 'live', ...more } })
const rotate = (token: string, id: string, overlap_hours = 24) =>
  ask('POST', `/v1/secret_keys/${id}/rotate`, { token, body: { overlap_hours } })

/** A vendor, and the secret key of an admin as a thief has it. */
async function makeStage() {
  const vendor = await makeVendor(harness)
  const { workspaceId } = vendor
  const admin = await makePerson(query, { workspaceId, role: 'admin' })
  return { vendor, admin, thief: (await create(admin.token)).body as { id: string; key: string } }
}
const endedOf = async ({ workspaceId }: Vendor, more = '') =>
  (
    await query(
      `select id from secret_keys where workspace_id = $1 and (revoked_at is not null or expires_at <= service_now()) ${more}`,
      [workspaceId],
    )
  ).map(({ id }) => id as string)
const fill = (id: string, count: number) =>
  query(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, display_prefix, expires_at,
       created_at, project_ids)
     select workspace_id, gen_random_uuid(), env, role, created_by_type, created_by_id, display_prefix,
       expires_at - n * interval '1 second', created_at, project_ids
     from secret_keys, generate_series(1, $2::int) n where id = $1`,
    [id, count],
  )

test('what a stolen key made makes room for all, so nothing is refused after its revocation', async () => {
  const { vendor, admin, thief } = await makeStage()
  const made = await create(thief.key, { expires_at: past })
  await fill(made.body.id, 120)
  await revoke(vendor.live, thief.id, { cascade: true })
  assert.equal((await create(admin.token)).status, 201)
  assert.equal((await rotate(vendor.live, vendor.liveId)).status, 200)
  assert.ok((await endedOf(vendor)).length < 100)
  assert.ok((await endedOf(vendor)).includes(thief.id), 'its own row is the oldest of none')
})

test('a thief with a key that works pushes out what it made itself, and no other’s', async () => {
  const { vendor, thief } = await makeStage()
  const others = await create(vendor.live, { expires_at: past })
  const made = await create(thief.key, { expires_at: past })
  await fill(made.body.id, 98)
  for (let i = 0; i < 2; i++) assert.equal((await create(thief.key, { expires_at: past })).status, 201)
  assert.deepEqual(await endedOf(vendor, `and created_by_id <> '${thief.id}'`), [others.body.id])
})

test('a test key and one bound to a project fill their own places alone', async () => {
  const { vendor, thief } = await makeStage()
  const project = await makeProject(harness, vendor)
  const bound = (await create(thief.key, { project_ids: [project.id] })).body
  const filling = [
    await create(vendor.test, { env: 'test', expires_at: past }),
    await create(bound.key, { project_ids: [project.id], expires_at: past }),
  ]
  for (const { body } of filling) await fill(body.id, 110)
  const full = await endedOf(vendor)
  for (let i = 0; i < most - 1; i++) await create(bound.key, { project_ids: [project.id] })
  assert.equal((await create(bound.key, { project_ids: [project.id] })).body.code, 'key_limit_reached')
  // The two keys of the vendor and the thief’s are there.
  for (let i = 2; i < most; i++) assert.equal((await create(vendor.live)).status, 201)
  assert.equal((await create(vendor.live)).body.code, 'key_limit_reached')
  const left = await endedOf(vendor)
  const live = full.filter(id => !left.includes(id))
  const [{ places }] = await query(
    `select count(*)::int as places from secret_keys where workspace_id = $1 and env = 'test' and expires_at < now()`,
    [vendor.workspaceId],
  )
  assert.ok(places === 111 && live.length > 0, 'only the place of the project made room')
})

test('a chain of rotations goes from its middle, and its first maker still ends its last key', async () => {
  const { vendor, thief } = await makeStage()
  let last = thief
  for (let i = 0; i < 104; i++) {
    const { status, body } = await rotate(last.key, last.id, 0)
    assert.equal(status, 200, JSON.stringify(body))
    last = body
  }
  assert.ok((await endedOf(vendor)).length <= 100)
  assert.ok(await isAlive(last))
  const [{ made_by }] = await query('select created_by_type as made_by from secret_keys where id = $1', [
    last.id,
  ])
  assert.equal(made_by, 'secret_key')
  const left = await endedOf(vendor)
  const eldest = left.toSorted()[0] ?? ''
  await revoke(vendor.live, eldest, { cascade: true })
  assert.equal(await isAlive(last), false)
})

test('a key that made two that are stored stays, and one whose invitation is open', async () => {
  const { vendor, admin } = await makeStage()
  const parent = (await create(vendor.live)).body
  const inviter = (await create(vendor.live)).body
  await create(parent.key)
  await create(parent.key)
  await ask('POST', '/v1/invites', { token: inviter.key, body: { email: 'a@example.com', role: 'admin' } })
  await query(`update secret_keys set expires_at = now() - interval '1 hour' where id = any($1)`, [
    [parent.id, inviter.id],
  ])
  const lone = await create(admin.token, { expires_at: past })
  const { body } = await ask('DELETE', '/v1/secret_keys/ended', { token: vendor.live })
  assert.deepEqual([body.deleted, body.has_more], [1, true])
  assert.deepEqual((await endedOf(vendor)).toSorted(), [parent.id, inviter.id].toSorted())
  assert.equal((await ask('GET', `/v1/secret_keys/${lone.body.id}`, { token: vendor.live })).status, 404)
})

test('only an owner deletes what has ended, in one environment or both', async () => {
  const { vendor, thief } = await makeStage()
  const made = await create(thief.key, { expires_at: past })
  await fill(made.body.id, 250)
  await create(vendor.test, { env: 'test', expires_at: past })
  const remove = (token: string, search = '') => ask('DELETE', `/v1/secret_keys/ended${search}`, { token })
  assert.equal((await remove(thief.key)).body.code, 'owner_required')
  assert.equal((await remove(vendor.live, '?env=test')).body.deleted, 1)
  const counts = [await remove(vendor.live), await remove(vendor.live), await remove(vendor.live)]
  assert.deepEqual(
    counts.map(({ body }) => body.deleted),
    [200, 51, 0],
  )
  assert.deepEqual(await endedOf(vendor), [])
  assert.ok(await isAlive(thief))
})

test('where none can be deleted a creation is refused, but not an owner’s, and no rotation', async () => {
  const { vendor, thief } = await makeStage()
  const made = await create(vendor.live, { expires_at: past })
  await fill(made.body.id, 110)
  await query(
    `insert into leak_reports (workspace_id, credential_id, kind, display_prefix, reported_at)
     select workspace_id, id, 'secret_key', display_prefix, now() from secret_keys
     where workspace_id = $1 and expires_at is not null`,
    [vendor.workspaceId],
  )
  const refused = await create(thief.key)
  assert.deepEqual([refused.status, refused.body.code], [409, 'key_limit_reached'])
  assert.match(refused.body.detail, /100 revoked or expired secret keys/)
  assert.equal((await create(vendor.live)).status, 201)
  assert.equal((await rotate(thief.key, thief.id, 0)).status, 200)
})

test('two processes that create and rotate never pass the cap of active secret keys', async () => {
  const { config, log, clock, randomBytes, budgets } = harness.deps
  const deps = await openDeps({ config, log, connection: harness.connection, clock, randomBytes, budgets })
  const app = await buildApp(deps)
  try {
    const vendor = await makeVendor(harness)
    const there = async (url: string, payload: object) => {
      const headers = { authorization: `Bearer ${vendor.live}` }
      const answer = await app.inject({ method: 'POST', url, headers, payload })
      return { status: answer.statusCode }
    }
    const rotated = (await makeSecretKey(harness, vendor)).id
    await Promise.all([
      ...Array.from({ length: 24 }, (_, i) =>
        i % 2 === 0 ? create(vendor.live) : there('/v1/secret_keys', { env: 'live' }),
      ),
      ...Array.from({ length: 6 }, () => rotate(vendor.live, rotated)),
      ...Array.from({ length: 6 }, () => there(`/v1/secret_keys/${rotated}/rotate`, { overlap_hours: 1 })),
    ])
    const [{ active }] = await query(
      `select count(*)::int as active from secret_keys where workspace_id = $1 and env = 'live' and revoked_at is null
         and (expires_at is null or expires_at > service_now())`,
      [vendor.workspaceId],
    )
    assert.equal(active, most)
    assert.equal((await rotate(vendor.live, rotated)).body.code, 'key_limit_reached')
    assert.equal((await rotate(vendor.live, rotated, 0)).status, 200, 'it replaces a key')
  } finally {
    await app.close()
    await deps.close()
  }
})
