import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, hexOf, openImport } from '../../test/importing.ts'
import { issueKey, makeProject, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'
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
  assert.deepEqual([again.existing, again.rows], [1, [{ status: 'exists', id, active: false }]])
  assert.deepEqual(await audited(vendor.workspaceId), before)
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(body.name, null)
})

test('a key that was revoked and deleted cannot be imported again', async () => {
  const { vendor, answer, row } = await setUp()
  const key = drawForeign()
  const [{ id }] = (await answer([row(key)])).rows
  await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await query(`update api_keys set revoked_at = revoked_at - interval '2 days' where id = $1`, [id])
  const { body } = await ask('DELETE', `/v1/keys/ended?tenant_id=${vendor.tenantId}`, { token: vendor.live })
  assert.equal(body.deleted, 1, JSON.stringify(body))
  const [again] = (await answer([row(key)])).rows
  assert.deepEqual([again.status, again.errors[0].path], ['invalid', 'digest'])
  assert.deepEqual(await faultsOf(query, vendor.workspaceId), [])
})

test('a test credential creates no tenants by an import, dry or not', async () => {
  const { vendor, send } = await setUp()
  const rows = [{ external_id: 'unknown', digest: hexOf(drawForeign()) }]
  for (const dry_run of [true, false]) {
    const { status, body } = await send(rows, { env: 'test', create_tenants: true, dry_run }, vendor.test)
    assert.deepEqual([status, body.code], [403, 'live_credential_required'])
  }
})

test('two rows with one digest and two unknown tenants make one tenant', async () => {
  const { vendor, answer } = await setUp()
  const digest = hexOf(drawForeign())
  const rows = ['first', 'second'].map(external_id => ({ external_id, digest }))
  assert.deepEqual(statuses(await answer(rows, { create_tenants: true })), ['created', 'invalid'])
  const made = (await audited(vendor.workspaceId)).filter(({ action }) => action === 'tenant.created')
  assert.deepEqual(made.at(-1)?.payload.external_id, 'first')
})

test('a row says whether its key is active, made or there, dry or not', async () => {
  const { vendor, answer, row } = await setUp()
  const gone = await makeTenant(harness, vendor)
  await ask('POST', `/v1/tenants/${gone.id}/suspend`, { token: vendor.live })
  const rows = [
    row(),
    row(undefined, { disabled_at: '2024-01-01T00:00:00Z' }),
    row(undefined, { expires_at: '2024-01-01T00:00:00Z' }),
    row(undefined, { tenant_id: gone.id }),
  ]
  const active = [true, false, false, false]
  for (const dry_run of [true, false, false, true])
    assert.deepEqual(
      (await answer(rows, { dry_run })).rows.map((one: { active: boolean }) => one.active),
      active,
    )
  await ask('POST', `/v1/tenants/${gone.id}/resume`, { token: vendor.live })
  assert.equal((await answer(rows)).rows[3].active, true)
})

test('a digest of anybody else cannot be imported, and the answer tells nothing more', async () => {
  const { vendor, answer, row } = await setUp()
  const foreign = await setUp()
  const [ofTenant, ofOther] = [drawForeign(), drawForeign()]
  const [{ id }] = (await answer([row(ofTenant)])).rows
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
  // A key of the very project and environment may be seen: it works, whoever its customer is in the row.
  const held = { id, active: true }
  assert.deepEqual((await answer([row(ofTenant, { tenant_id: second.id })])).rows, [
    { ...refused[0], ...held },
  ])
  const [unknown] = (await answer([{ digest: hexOf(ofTenant), external_id: 'nobody' }])).rows
  assert.deepEqual([unknown.status, unknown.id, unknown.active], ['invalid', id, true])
  assert.equal(unknown.errors[0].path, 'external_id')
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

test('a test credential imports test keys alone, and another workspace is not found', async () => {
  const { vendor, answer, row, send } = await setUp()
  const other = await makeVendor(harness)
  assert.equal((await answer([row()], { env: 'test' }, vendor.test)).created, 1)
  assert.equal((await send([row()], {}, vendor.test)).body.code, 'env_mismatch')
  assert.equal((await send([row()], { project_id: other.projectId })).status, 404)
  assert.equal((await send([row()], { project_id: randomUUID() })).status, 404)
})
