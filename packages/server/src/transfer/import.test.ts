import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, hexOf, openImport } from '../../test/importing.ts'
import { issueKey, makeProject, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'
import { tokenDigest } from '../platform/crypto/token.ts'

const harness = await startHarness({ maxActiveKeysPerTenant: 2_000 })
const { ask, query } = harness

const setUp = async () => {
  const vendor = await makeVendor(harness)
  return { vendor, ...openImport(harness, vendor) }
}
const audited = (workspaceId: string) =>
  query(`select action, target_id, payload::json from audit_logs where workspace_id = $1 order by seq`, [
    workspaceId,
  ])
const statuses = (body: { rows: { status: string }[] }) => body.rows.map(({ status }) => status)

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
  assert.deepEqual([status, rest], ['created', {}])
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
    [row(undefined, { created_at: '1969-12-31T23:59:59Z' }), 'created_at'],
    [row(undefined, { expires_at: '2020-02-30T00:00:00Z' }), 'expires_at'],
    [row(undefined, { display_prefix: 'a'.repeat(21) }), 'display_prefix'],
    [row(undefined, { display_prefix: 'a b' }), 'display_prefix'],
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

test('a dry run says what the call would do, and writes nothing', async () => {
  const { vendor, answer, row, send } = await setUp()
  const known = row()
  await answer([known])
  const twice = row()
  const rows = [
    known,
    twice,
    twice,
    row(undefined, { scopes: [''] }),
    { ...row(), tenant_id: undefined, external_id: 'met' },
  ]
  const more = { create_tenants: true }
  const before = await audited(vendor.workspaceId)
  const dry = await answer(rows, { ...more, dry_run: true })
  assert.deepEqual(await audited(vendor.workspaceId), before)
  const { body: wet } = await send(rows, more)
  assert.deepEqual(statuses(dry), ['exists', 'created', 'exists', 'invalid', 'created'])
  assert.deepEqual(
    [dry.dry_run, dry.created, dry.existing, dry.invalid],
    [true, wet.created, wet.existing, wet.invalid],
  )
  assert.deepEqual(statuses(wet), statuses(dry))
  assert.deepEqual(
    dry.rows.map(({ id }: { id: string | null }) => id === null),
    [false, true, true, true, true],
  )
  assert.equal(wet.rows[2].id, wet.rows[1].id)
})

test('a repeated row changes nothing, also after a revocation', async () => {
  const { vendor, answer, row } = await setUp()
  const key = drawForeign()
  const [{ id }] = (await answer([row(key)])).rows
  await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  const before = await audited(vendor.workspaceId)
  const again = await answer([row(key, { name: 'other' })])
  assert.deepEqual([again.existing, again.rows], [1, [{ status: 'exists', id }]])
  assert.deepEqual(await audited(vendor.workspaceId), before)
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(body.name, null)
})

test('a digest of anybody else cannot be imported, and the answer tells nothing more', async () => {
  const { vendor, answer, row } = await setUp()
  const foreign = await setUp()
  const [ofTenant, ofOther] = [drawForeign(), drawForeign()]
  await answer([row(ofTenant)])
  await foreign.answer([foreign.row(ofOther)])
  const issued = await issueKey(harness, foreign.vendor)
  const secret = await makeSecretKey(harness, vendor)
  const second = await makeTenant(harness, vendor)
  const project = await makeProject(harness, vendor)
  const refused = [
    { status: 'invalid', id: null, errors: [{ path: 'digest', message: 'cannot be imported' }] },
  ]
  for (const text of [ofOther, issued.key, secret.key, vendor.live, foreign.vendor.test])
    for (const dry_run of [true, false])
      assert.deepEqual((await answer([row(text)], { dry_run })).rows, refused)
  assert.deepEqual((await answer([row(ofTenant, { tenant_id: second.id })])).rows, refused)
  assert.deepEqual((await answer([row(ofTenant)], { env: 'test' })).rows, refused)
  assert.deepEqual((await answer([row(ofTenant)], { project_id: project.id })).rows, refused)
})

test('a digest that is there twice is one key, of the first tenant alone', async () => {
  const { vendor, answer, row } = await setUp()
  const second = await makeTenant(harness, vendor)
  const one = row()
  const { rows, created } = await answer([one, one, { ...one, tenant_id: second.id }])
  assert.equal(created, 1)
  assert.deepEqual(
    rows.map(({ status }: { status: string }) => status),
    ['created', 'exists', 'invalid'],
  )
  assert.equal(rows[1].id, rows[0].id)
})

test('unknown tenants are created once each, with an audit row, where the call asks for that', async () => {
  const { vendor, answer } = await setUp()
  const known = await makeTenant(harness, vendor)
  const rows = ['b', 'a', 'b', known.external_id].map(external_id => ({
    external_id,
    digest: hexOf(drawForeign()),
  }))
  assert.deepEqual(statuses(await answer(rows)), ['invalid', 'invalid', 'invalid', 'created'])
  assert.deepEqual(statuses(await answer(rows, { create_tenants: true })), [
    'created',
    'created',
    'created',
    'exists',
  ])
  const log = await audited(vendor.workspaceId)
  const made = log
    .filter(({ action }) => action === 'tenant.created')
    .map(({ payload }) => payload.external_id)
  assert.deepEqual(made.slice(-2), ['b', 'a'])
  const deleted = await ask('DELETE', `/v1/tenants/${known.id}`, { token: vendor.live })
  assert.equal(deleted.status, 200)
  const late = await answer([{ tenant_id: known.id, digest: hexOf(drawForeign()) }])
  assert.deepEqual([late.rows[0].status, late.rows[0].errors[0].path], ['invalid', 'tenant_id'])
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

test('an import is one policy version, and one audit row a key without its digest', async () => {
  const { vendor, answer, row } = await setUp()
  const stateOf = async () =>
    (
      await query(
        `select h.version, h.floor, h.accepts_imported, p.accepts_imported as of_project
         from policy_heads h join projects p on p.workspace_id = h.workspace_id and p.id = h.project_id
         where h.project_id = $1`,
        [vendor.projectId],
      )
    ).map(state => ({ ...state, version: Number(state.version), floor: Number(state.floor) }))[0]
  assert.deepEqual(await stateOf(), { version: 1, floor: 1, accepts_imported: false, of_project: false })
  const keys = [drawForeign(), drawForeign(), drawForeign()]
  const { rows } = await answer(keys.map(key => row(key)))
  assert.deepEqual(await stateOf(), { version: 2, floor: 2, accepts_imported: true, of_project: true })
  await answer([row(), row()])
  assert.deepEqual(await stateOf(), { version: 3, floor: 2, accepts_imported: true, of_project: true })
  const project = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.equal(project.body.accepts_imported, true)
  const log = (await audited(vendor.workspaceId)).filter(({ action }) => action === 'api_key.imported')
  assert.deepEqual(
    log.slice(0, 3).map(({ target_id }) => target_id),
    rows.map(({ id }: { id: string }) => id),
  )
  const text = JSON.stringify(log)
  for (const key of keys)
    for (const form of ['hex', 'base64', 'base64url'] as const)
      assert.ok(!text.includes(tokenDigest(key).toString(form)))
})

test('two calls at once with the same digests make each key once', async () => {
  const { vendor, answer, row } = await setUp()
  const rows = Array.from({ length: 50 }, () => row())
  const answers = await Promise.all([answer(rows), answer(rows.toReversed()), answer(rows)])
  assert.equal(
    answers.reduce((sum, { created }) => sum + created, 0),
    50,
  )
  for (const { created, existing, invalid } of answers)
    assert.deepEqual([created + existing, invalid], [50, 0])
  const ids = answers.map(({ rows }) => rows.map(({ id }: { id: string }) => id))
  assert.deepEqual(ids[1], ids[0].toReversed())
  assert.deepEqual(ids[2], ids[0])
  const [{ n }] = await query('select count(*)::int as n from api_keys where workspace_id = $1', [
    vendor.workspaceId,
  ])
  assert.equal(n, 50)
})

test('two workspaces at once with the same digests: one gets each key', async () => {
  const [one, other] = [await setUp(), await setUp()]
  const keys = Array.from({ length: 20 }, drawForeign)
  const [first, second] = await Promise.all([
    one.answer(keys.map(key => one.row(key))),
    other.answer(keys.toReversed().map(key => other.row(key))),
  ])
  assert.deepEqual([first.created + second.created, first.invalid + second.invalid], [20, 20])
})

test('a body of a thousand invalid rows is answered, and one more row is refused', async () => {
  const { vendor, answer, send } = await setUp()
  const before = await audited(vendor.workspaceId)
  const { invalid, rows } = await answer(Array.from({ length: 1_000 }, () => ({})))
  assert.deepEqual([invalid, rows.length], [1_000, 1_000])
  assert.deepEqual(await audited(vendor.workspaceId), before)
  for (const wrong of [Array.from({ length: 1_001 }, () => ({})), [], [null], ['x'], [[]]])
    assert.equal((await send(wrong)).status, 400)
})

test('a thousand keys are imported with one call, and found by it again', async () => {
  const { answer, row } = await setUp()
  const rows = Array.from({ length: 1_000 }, (_, i) => row(undefined, { source_id: `old-${i}` }))
  assert.equal((await answer(rows)).created, 1_000)
  assert.equal((await answer(rows)).existing, 1_000)
})

test('a call that is repeated with its Idempotency-Key gets its answer, and stores no digest', async () => {
  const { vendor, row } = await setUp()
  const key = drawForeign()
  const body = { project_id: vendor.projectId, env: 'live', rows: [row(key)] }
  const once = { token: vendor.live, body, headers: { 'idempotency-key': randomUUID() } }
  const first = await ask('POST', '/v1/keys/import', once)
  const again = await ask('POST', '/v1/keys/import', once)
  assert.deepEqual([first.status, again.status, again.body], [200, 200, first.body])
  const [{ stored }] = await query('select body::text as stored from replays where workspace_id = $1', [
    vendor.workspaceId,
  ])
  assert.ok(!stored.includes(hexOf(key)))
})

test('a test credential imports test keys alone, and a project of another workspace is not found', async () => {
  const { vendor, answer, row, send } = await setUp()
  const other = await makeVendor(harness)
  assert.equal((await answer([row()], { env: 'test' }, vendor.test)).created, 1)
  assert.equal((await send([row()], {}, vendor.test)).body.code, 'env_mismatch')
  assert.equal((await send([row()], { project_id: other.projectId })).status, 404)
  assert.equal((await send([row()], { project_id: randomUUID() })).status, 404)
})
