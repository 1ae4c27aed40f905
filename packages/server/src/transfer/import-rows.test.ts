import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, hexOf, openImport } from '../../test/importing.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

const statuses = (body: { rows: { status: string }[] }) => body.rows.map(({ status }) => status)
const setUp = async () => {
  const vendor = await makeVendor(harness)
  return { vendor, ...openImport(harness, vendor) }
}

test('a key has the fields of its row, and its id has the time at which it was made', async () => {
  const { vendor, answer, row } = await setUp()
  const key = drawForeign()
  const given = {
    display_prefix: 'other:abc',
    source_id: 'legacy-7',
    name: 'CI',
    scopes: ['b', 'a'],
    meta: { plan: 1 },
    rate_limits: [{ id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }],
    allowed_cidrs: ['203.0.113.0/24'],
    expires_at: '2999-01-01T00:00:00.000Z',
    created_at: '2021-03-04T05:06:07.089Z',
  }
  const { rows, ...counts } = await answer([row(key, given)])
  assert.deepEqual(counts, { object: 'key_import', dry_run: false, created: 1, existing: 0, invalid: 0 })
  const { id, status, ...rest } = rows[0]
  assert.deepEqual([status, rest], ['created', { active: true }])
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  for (const [name, value] of Object.entries(given)) assert.deepEqual(body[name], value, name)
  assert.equal(body.imported_at, body.updated_at)
  const hex = Date.parse(given.created_at).toString(16).padStart(12, '0')
  assert.equal(id.replaceAll('-', '').slice(0, 12), hex)
  const identified = await ask('POST', '/v1/keys/identify', { token: vendor.live, body: { key } })
  assert.equal(identified.body.id, id)
})

test('a row with a digest alone gets the defaults of a new key', async () => {
  const { vendor, answer, row } = await setUp()
  const { rows } = await answer([row()])
  const { body } = await ask('GET', `/v1/keys/${rows[0].id}`, { token: vendor.live })
  assert.deepEqual(
    [body.display_prefix, body.source_id, body.name, body.scopes, body.rate_limits, body.expires_at],
    ['imported', null, null, [], null, null],
  )
  const made = await issueKey(harness, vendor)
  assert.deepEqual([made.source_id, made.imported_at], [null, null])
})

test('a digest is read as hex, base64 or base64url, and a text beside these is not', async () => {
  const { vendor, answer } = await setUp()
  const digest = () => randomBytes(32)
  const forms = [
    digest().toString('hex'),
    digest().toString('hex').toUpperCase(),
    digest().toString('base64'),
    digest().toString('base64').replace('=', ''),
    digest().toString('base64url'),
    `${digest().toString('base64url')}=`,
  ]
  const rowsOf = (digests: unknown[]) => digests.map(one => ({ tenant_id: vendor.tenantId, digest: one }))
  assert.deepEqual(
    statuses(await answer(rowsOf(forms))),
    forms.map(() => 'created'),
  )
  const wrong = [
    '',
    digest().toString('hex').slice(1),
    `${'A'.repeat(42)}B=`,
    'A'.repeat(44),
    `${'A'.repeat(42)}$`,
    7,
    null,
  ]
  const { rows } = await answer(rowsOf(wrong))
  for (const row of rows)
    assert.deepEqual([row.status, row.id, row.errors[0].path], ['invalid', null, 'digest'])
})

test('a row that is invalid costs itself, and says where', async () => {
  const { answer, row } = await setUp()
  const cases: [row: unknown, path: string][] = [
    [row(undefined, { scopes: ['a', ''] }), 'scopes.1'],
    [row(undefined, { allowed_cidrs: ['10.0.0.0/8', '10.0.0.1/8'] }), 'allowed_cidrs.1'],
    [row(undefined, { created_at: '2999-01-01T00:00:00Z' }), 'created_at'],
    [row(undefined, { disabled_at: '2999-01-01T00:00:00Z' }), 'disabled_at'],
    [row(undefined, { disabled_at: 'yesterday' }), 'disabled_at'],
    [row(undefined, { created_at: '1969-12-31T23:59:59Z' }), 'created_at'],
    [row(undefined, { expires_at: '2020-02-30T00:00:00Z' }), 'expires_at'],
    [row(undefined, { display_prefix: 'a'.repeat(21) }), 'display_prefix'],
    [row(undefined, { display_prefix: 'a b' }), 'display_prefix'],
    [row(undefined, { display_prefix: 'a"' }), 'display_prefix'],
    [row(undefined, { display_prefix: 'a\\' }), 'display_prefix'],
    [row(undefined, { source_id: '' }), 'source_id'],
    [row(undefined, { constructor: 1 }), 'constructor'],
    [row(undefined, { toString: 1 }), 'toString'],
    [row(undefined, { external_id: 'x' }), 'external_id'],
    [row(undefined, { tenant_id: randomUUID() }), 'tenant_id'],
    [{ digest: hexOf(drawForeign()) }, 'tenant_id'],
    [{ external_id: 'unknown', digest: hexOf(drawForeign()) }, 'external_id'],
  ]
  const { rows, created, invalid } = await answer([...cases.map(([one]) => one), row()])
  assert.deepEqual([created, invalid], [1, cases.length])
  for (const [i, [, path]] of cases.entries())
    assert.deepEqual([rows[i].status, rows[i].errors[0].path], ['invalid', path])
})

test('the rules of the project hold for each row, counted from when its key was made', async () => {
  const { vendor, answer, row } = await setUp()
  const rules = { known_scopes: ['a'], strict_scopes: true, max_key_lifetime_days: 30 }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body: rules })
  const created_at = new Date(Date.now() - 10 * 86_400_000).toISOString()
  const end = new Date(Date.parse(created_at) + 30 * 86_400_000)
  const { rows } = await answer([
    row(undefined, { created_at, scopes: ['a', 'b'] }),
    row(undefined, { created_at, expires_at: new Date(end.getTime() + 1).toISOString() }),
    row(undefined, { created_at, scopes: ['a'] }),
  ])
  assert.deepEqual(
    rows.map((one: { status: string; errors?: { path: string }[] }) => one.errors?.[0]?.path ?? one.status),
    ['scopes.1', 'expires_at', 'created'],
  )
  const { body } = await ask('GET', `/v1/keys/${rows[2].id}`, { token: vendor.live })
  assert.equal(body.expires_at, end.toISOString())
})

test('a key that was paused stays paused, and only the vendor resumes it', async () => {
  const { vendor, answer, row } = await setUp()
  const key = drawForeign()
  const disabled_at = '2024-05-06T07:08:09.010Z'
  const { rows } = await answer([row(key, { disabled_at }), row(undefined, { disabled_at: null })])
  assert.deepEqual(
    rows.map((one: { active: boolean }) => one.active),
    [false, true],
  )
  const { body } = await ask('GET', `/v1/keys/${rows[0].id}`, { token: vendor.live })
  assert.deepEqual([body.disabled_at, body.disabled_by, body.disabled_reason], [disabled_at, 'vendor', null])
  const verify = async () =>
    (
      await ask('POST', '/v1/keys/verify', {
        token: vendor.live,
        body: { project_id: vendor.projectId, key },
      })
    ).body.code
  assert.equal(await verify(), 'disabled_key')
  const [log] = await query(
    `select payload::json from audit_logs where workspace_id = $1 and action = 'api_key.imported' order by seq`,
    [vendor.workspaceId],
  )
  assert.deepEqual([log?.payload.disabled_at, log?.payload.disabled_by], [disabled_at, 'vendor'])
  await ask('POST', `/v1/keys/${rows[0].id}/enable`, { token: vendor.live })
  assert.equal(await verify(), 'valid')
})
