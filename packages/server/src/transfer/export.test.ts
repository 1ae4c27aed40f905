import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, hexOf, openImport } from '../../test/importing.ts'
import { makePerson } from '../../test/people.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { tokenDigest } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask, query } = harness

type Line = Record<string, unknown>
async function exportOf(token: string, more = '', { ask } = harness): Promise<Line[]> {
  const { status, headers, body } = await ask('GET', `/v1/keys/export${more}`, { token })
  assert.deepEqual([status, headers['content-type']], [200, 'application/x-ndjson'])
  const lines = String(body).split('\n')
  assert.equal(lines.pop(), '')
  return lines.map(line => JSON.parse(line))
}

test('an export has every key that is neither revoked nor expired, and ends with their number', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  const made = await issueKey(harness, vendor, { name: 'CI', scopes: ['a'] })
  const paused = await issueKey(harness, vendor, { env: 'test' })
  const revoked = await issueKey(harness, vendor)
  await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: vendor.live })
  await ask('POST', `/v1/keys/${paused.id}/disable`, { token: vendor.live })
  const key = drawForeign()
  const given = { source_id: 'old-1', created_at: '2021-01-01T00:00:00.000Z' }
  const [{ id }] = (await answer([row(key, given)])).rows
  const [first, second, third, end, ...rest] = await exportOf(vendor.live)
  const { body: tenant } = await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
  assert.deepEqual(first, {
    object: 'exported_key',
    id,
    project_id: vendor.projectId,
    env: 'live',
    external_id: tenant.external_id,
    digest: hexOf(key),
    display_prefix: 'imported',
    source_id: 'old-1',
    scopes: [],
    meta: {},
    created_at: given.created_at,
  })
  assert.deepEqual([second?.id, second?.name, second?.scopes], [made.id, 'CI', ['a']])
  assert.equal(second?.digest, tokenDigest(made.key).toString('hex'))
  assert.deepEqual([third?.id, third?.env], [paused.id, 'test'])
  assert.equal(typeof third?.disabled_at, 'string')
  assert.deepEqual([end, rest], [{ object: 'export_end', count: 3 }, []])
})

test('an export continues after a key, and has one project and environment where it is asked to', async () => {
  const vendor = await makeVendor(harness)
  const other = await makeProject(harness, vendor)
  const [live, test] = [await issueKey(harness, vendor), await issueKey(harness, vendor, { env: 'test' })]
  const elsewhere = await issueKey(harness, vendor, { project_id: other.id })
  const idsOf = async (more: string) => (await exportOf(vendor.live, more)).slice(0, -1).map(({ id }) => id)
  assert.deepEqual(await idsOf(''), [live.id, test.id, elsewhere.id])
  assert.deepEqual(await idsOf(`?cursor=${live.id}`), [test.id, elsewhere.id])
  assert.deepEqual(await idsOf(`?project_id=${vendor.projectId}&env=test`), [test.id])
  const foreign = await makeVendor(harness)
  assert.deepEqual(await exportOf(vendor.live, `?project_id=${foreign.projectId}`), [
    { object: 'export_end', count: 0 },
  ])
})

test('an export of many keys has pages, and each key once', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  const rows = Array.from({ length: 450 }, (_, i) => row(undefined, { meta: { text: 'x'.repeat(i * 2) } }))
  await answer(rows)
  const lines = await exportOf(vendor.live)
  assert.deepEqual(lines.pop(), { object: 'export_end', count: 450 })
  assert.deepEqual(new Set(lines.map(({ digest }) => digest)), new Set(rows.map(({ digest }) => digest)))
  const ids = lines.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted())
})

test('an export goes on past any number of keys that have ended', async () => {
  const vendor = await makeVendor(harness)
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, revoked_at, expires_at,
       created_at, updated_at)
     select $1, gen_random_uuid(), $2, $3, 'live', 'kr_live_x', sha256(($1::uuid::text || n)::bytea),
       case when n % 2 = 0 then now() end, '2020-01-01', '2019-01-01', '2019-01-01' from generate_series(1, 9000) n`,
    [vendor.workspaceId, vendor.projectId, vendor.tenantId],
  )
  const first = await issueKey(harness, vendor)
  const { answer } = openImport(harness, vendor)
  const last = {
    tenant_id: vendor.tenantId,
    digest: hexOf(drawForeign()),
    created_at: '2026-01-01T00:00:00Z',
  }
  const [{ id }] = (await answer([last], { env: 'test' })).rows
  for (const more of ['', `?project_id=${vendor.projectId}`]) {
    const lines = await exportOf(vendor.live, more)
    assert.deepEqual(new Set(lines.map(line => line.id)), new Set([first.id, id, undefined]))
  }
  const test = await exportOf(vendor.live, `?project_id=${vendor.projectId}&env=test`)
  assert.deepEqual([test.length, test[0]?.id], [2, id])
})

test('a key of a suspended tenant is exported as paused, and one that is too old as ended', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  await answer([row(undefined, { created_at: '2021-01-01T00:00:00Z' })])
  const body = { max_key_lifetime_days: 30, lifetime: 'refuse' }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body })
  const suspended = await ask('POST', `/v1/tenants/${vendor.tenantId}/suspend`, { token: vendor.live })
  const [line] = await exportOf(vendor.live)
  assert.deepEqual(
    [line?.expires_at, line?.disabled_at],
    ['2021-01-31T00:00:00.000Z', suspended.body.suspended_at],
  )
})

test('what is exported, imported elsewhere and exported again is the same', async () => {
  const from = await makeVendor(harness)
  const { answer, row } = openImport(harness, from)
  const limits = [{ id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }]
  await issueKey(harness, from, {
    name: 'a',
    scopes: ['b', 'a'],
    meta: { z: 1, a: [null] },
    rate_limits: limits,
  })
  await issueKey(harness, from, { allowed_cidrs: [], rate_limits: [], expires_at: '2999-01-01T00:00:00Z' })
  const old = { created_at: '2021-01-01T00:00:00Z', source_id: 'old', display_prefix: "<'}&" }
  await answer([row(undefined, old), row(undefined, { allowed_cidrs: ['203.0.113.7'] })])
  const paused = await issueKey(harness, from)
  await ask('POST', `/v1/keys/${paused.id}/disable`, { token: from.live })
  const first = await exportOf(from.live)
  const elsewhere = await startHarness()
  const to = await makeVendor(elsewhere)
  const rows = first.slice(0, -1).map(({ object, id, project_id, env, ...rest }) => rest)
  const { created } = await openImport(elsewhere, to).answer(rows, { create_tenants: true })
  assert.equal(created, 5)
  const bare = (lines: Line[]) =>
    lines
      .map(({ id, project_id, ...rest }) => rest)
      .toSorted((a, b) => String(a.digest).localeCompare(String(b.digest)))
  assert.deepEqual(bare(await exportOf(to.live, '', elsewhere)), bare(first))
})

test('only the live secret key of an owner, without any limit, exports keys', async () => {
  const vendor = await makeVendor(harness)
  const { workspaceId } = vendor
  const admin = await makePerson(query, { workspaceId, role: 'admin' })
  const tokens = [
    [vendor.test, 'live_credential_required'],
    [(await makeSecretKey(harness, { ...vendor, live: admin.token })).key, 'owner_required'],
    [
      (await makeSecretKey(harness, vendor, { permissions: ['keys:read', 'keys:import'] })).key,
      'insufficient_permission',
    ],
    [
      (await makeSecretKey(harness, vendor, { project_ids: [vendor.projectId] })).key,
      'insufficient_permission',
    ],
    [(await makePerson(query, { workspaceId, role: 'owner' })).token, 'credential_not_accepted'],
  ] as const
  for (const [token, code] of tokens) {
    const { status, body } = await ask('GET', '/v1/keys/export', { token })
    assert.deepEqual([status, body.code], [403, code])
  }
  const rows = await query(`select from audit_logs where workspace_id = $1 and action = 'api_key.exported'`, [
    workspaceId,
  ])
  assert.equal(rows.length, 0)
})

test('an export is in the audit log before its first line, with what it named', async () => {
  const vendor = await makeVendor(harness)
  await exportOf(vendor.live, `?project_id=${vendor.projectId}&env=live`)
  const rows = await query(
    `select actor_id, env, payload::json from audit_logs where workspace_id = $1 and action = 'api_key.exported'`,
    [vendor.workspaceId],
  )
  assert.deepEqual(rows, [
    { actor_id: vendor.liveId, env: 'live', payload: { project_id: vendor.projectId, cursor: null } },
  ])
})
