import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

const create = async (body: Record<string, unknown> = { env: 'live' }, token = live) =>
  (await ask('POST', '/v1/secret_keys', { token, body })).body
/** Turns a key into one made by an admin. */
const demote = (id: string) => query("update secret_keys set role = 'admin' where id = $1", [id])

test('a secret key is shown once, only its digest is stored, and it works at once', async () => {
  const created = await create({ env: 'live', name: 'CI', meta: { a: 1 } })
  assert.match(created.key, /^krsk_live_[0-9A-Za-z]{38}$/)
  assert.deepEqual(created.created_by, { type: 'secret_key', id: vendor.liveId })
  const { key, ...rest } = created
  const { body } = await ask('GET', `/v1/secret_keys/${created.id}`, { token: key })
  assert.deepEqual({ ...body, last_used_at: null }, rest)
  const rows = await query("select id from credentials where digest = $1 and kind = 'secret_key'", [
    hash('sha256', key, 'buffer'),
  ])
  assert.deepEqual(rows, [{ id: created.id }])
})

test('a revoked secret key is refused on the next request; revoking it again changes nothing', async () => {
  const { id, key } = await create()
  const first = await ask('POST', `/v1/secret_keys/${id}/revoke`, { token: live, body: { reason: 'left' } })
  assert.equal((await ask('GET', '/v1/workspace', { token: key })).status, 401)
  const second = await ask('POST', `/v1/secret_keys/${id}/revoke`, { token: live, body: { reason: 'again' } })
  assert.deepEqual(second.body, first.body)
  const rows = await query(
    "select 1 from audit_logs where target_id = $1 and action = 'secret_key.revoked'",
    [id],
  )
  assert.equal(rows.length, 1)
})

test('a secret key gets another name and meta, and keeps everything else', async () => {
  const { id, key, ...old } = await create({ env: 'live', name: 'CI', meta: { a: 1 }, preset: 'node' })
  const patch = (body: object, token = live) => ask('PATCH', `/v1/secret_keys/${id}`, { token, body })
  const { body } = await patch({ name: 'Payments', meta: { team: 'b' } })
  assert.deepEqual(body, { ...old, id, name: 'Payments', meta: { team: 'b' } })
  assert.deepEqual((await ask('GET', `/v1/secret_keys/${id}`, { token: live })).body, body)
  await patch({ name: 'Payments', meta: { team: 'b' } })
  await patch({ name: null })
  const changes = await query(
    "select payload::json as payload from audit_logs where target_id = $1 and action = 'secret_key.updated' order by seq",
    [id],
  )
  assert.deepEqual(
    changes.map(({ payload }) => payload),
    [
      { meta: { old: { a: 1 }, new: { team: 'b' } }, name: { old: 'CI', new: 'Payments' } },
      { name: { old: 'Payments', new: null } },
    ],
  )
  assert.equal((await patch({ name: 'Mine' }, key)).body.code, 'insufficient_permission')
  for (const unchangeable of ['role', 'env', 'expires_at', 'permissions', 'project_ids', 'allowed_cidrs'])
    assert.equal((await patch({ [unchangeable]: null })).body.code, 'validation_failed', unchangeable)
  await ask('POST', `/v1/secret_keys/${id}/revoke`, { token: live })
  assert.equal((await patch({ name: 'Late' })).body.code, 'key_not_active')
})

test('a test key and a key of another project rename no key that they cannot see', async () => {
  const { id } = await create({ env: 'live' })
  const test = await create({ env: 'test' })
  const bound = await create({ env: 'live', project_ids: [vendor.projectId] })
  for (const { key } of [test, bound]) {
    const answer = await ask('PATCH', `/v1/secret_keys/${id}`, { token: key, body: { name: 'Mine' } })
    assert.equal(answer.body.code, 'not_found')
  }
})

test('a secret key may revoke itself', async () => {
  const { id, key } = await create()
  assert.equal((await ask('POST', `/v1/secret_keys/${id}/revoke`, { token: key })).status, 200)
  assert.equal((await ask('GET', '/v1/workspace', { token: key })).status, 401)
})

test('a rotated secret key works until its overlap ends; the successor keeps the role', async () => {
  const { id, key } = await create()
  await demote(id)
  const { body } = await ask('POST', `/v1/secret_keys/${id}/rotate`, {
    token: live,
    body: { overlap_hours: 2 },
  })
  assert.equal(body.role, 'admin')
  assert.equal(body.rotated_from, id)
  const end = Date.parse(body.predecessor.expires_at)
  for (const [offset, status] of [
    [-1, 200],
    [0, 401],
  ] as const) {
    await harness.setStoreTime(new Date(end + offset))
    assert.equal((await ask('GET', '/v1/workspace', { token: key })).status, status, `${offset} ms`)
  }
  await harness.setStoreTime(null)
  assert.equal((await ask('GET', '/v1/workspace', { token: body.key })).status, 200)
  assert.equal((await ask('GET', `/v1/secret_keys/${id}`, { token: live })).body.rotated_to, body.id)
})

test('an admin key cannot rotate an owner’s key, but can revoke it', async () => {
  const admin = await create()
  await demote(admin.id)
  const owner = await create()
  const refused = await ask('POST', `/v1/secret_keys/${owner.id}/rotate`, { token: admin.key })
  assert.deepEqual([refused.status, refused.body.code], [403, 'owner_required'])
  assert.equal((await create({ env: 'live' }, admin.key)).role, 'admin')
  assert.equal((await ask('POST', `/v1/secret_keys/${owner.id}/revoke`, { token: admin.key })).status, 200)
})

test('a test key creates, sees and changes test keys only', async () => {
  const made = await create({ env: 'test' }, vendor.test)
  assert.match(made.key, /^krsk_test_/)
  const listed = await ask('GET', '/v1/secret_keys', { token: vendor.test })
  assert.ok(listed.body.data.length >= 2)
  assert.ok(listed.body.data.every((key: { env: string }) => key.env === 'test'))
  assert.equal((await ask('GET', `/v1/secret_keys/${vendor.liveId}`, { token: vendor.test })).status, 404)
  assert.equal(
    (await ask('POST', `/v1/secret_keys/${vendor.liveId}/revoke`, { token: vendor.test })).status,
    404,
  )
  const live = await ask('POST', '/v1/secret_keys', { token: vendor.test, body: { env: 'live' } })
  assert.equal(live.body.code, 'env_mismatch')
})

test('an expired secret key is refused and cannot be rotated', async () => {
  const { id, key } = await create({ env: 'live', expires_at: '2020-01-01T00:00:00+02:00' })
  assert.equal((await ask('GET', '/v1/workspace', { token: key })).status, 401)
  assert.equal(
    (await ask('POST', `/v1/secret_keys/${id}/rotate`, { token: live })).body.code,
    'key_not_active',
  )
})

test('the last use of a secret key is stored at most once a minute', async () => {
  const { id, key } = await create()
  const usedAt = async (): Promise<number | null> =>
    (await query('select last_used_at from secret_keys where id = $1', [id]))[0].last_used_at?.getTime() ??
    null
  const use = () => ask('GET', '/v1/workspace', { token: key })
  // The use is stored after the response, so the test waits for it.
  const noted = async (before: number | null): Promise<number | null> => {
    await until(async () => (await usedAt()) !== before, 'the use is stored')
    return await usedAt()
  }
  await use()
  const first = await noted(null)
  assert.ok(first !== null)
  await use()
  assert.equal(await usedAt(), first)
  await harness.setStoreTime(new Date(first + 61_000))
  await use()
  assert.equal(await noted(first), first + 61_000)
  await harness.setStoreTime(null)
})
