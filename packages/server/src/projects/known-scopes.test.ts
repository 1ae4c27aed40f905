import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeVendor } from '../../test/vendor.ts'

/** The scopes that a project knows: forms offer them for a key, and with `strict_scopes` they are the only ones. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, tenantId } = vendor

const known = ['charges:read', 'charges:write', 'refunds']
const set = (id: string, body: Record<string, unknown>, token = live) =>
  ask('PATCH', `/v1/projects/${id}`, { token, body })

/** A vendor whose project has these rules. */
async function withRules(rules: Record<string, unknown>) {
  const { id: projectId } = await makeProject(harness, vendor)
  assert.equal((await set(projectId, rules)).status, 200)
  const create = (scopes: string[]) =>
    ask('POST', '/v1/keys', {
      token: live,
      body: { project_id: projectId, tenant_id: tenantId, env: 'live', scopes },
    })
  return { ...vendor, projectId, create }
}
const rowsOf = async (id: string) =>
  (await query('select count(*)::int as n from audit_logs where target_id = $1', [id]))[0].n
const versionOf = async (id: string) =>
  (await query('select version from policy_heads where project_id = $1', [id]))[0].version

test('a project has no known scopes at first, and returns them in the given order', async () => {
  const { id, ...made } = await makeProject(harness, vendor)
  assert.deepEqual([made.known_scopes, made.strict_scopes], [[], false])
  const body = { name: 'n', slug: `given-${id}`, known_scopes: ['b', 'a'], strict_scopes: true }
  const given = await ask('POST', '/v1/projects', { token: live, body })
  assert.deepEqual([given.status, given.body.known_scopes, given.body.strict_scopes], [201, ['b', 'a'], true])
  for (const token of [live, vendor.test])
    assert.deepEqual((await ask('GET', `/v1/projects/${given.body.id}`, { token })).body.known_scopes, [
      'b',
      'a',
    ])
  const { body: listed } = await ask('GET', `/v1/projects?slug=given-${id}`, { token: live })
  assert.deepEqual(listed.data[0].known_scopes, ['b', 'a'])
})

test('a change is audited once with the old and the new list, and raises no version', async () => {
  const { id } = await makeProject(harness, vendor)
  const version = await versionOf(id)
  assert.deepEqual((await set(id, { known_scopes: known })).body.known_scopes, known)
  const { body } = await ask('GET', '/v1/audit_logs?order=desc&limit=1', { token: live })
  assert.deepEqual(
    [body.data[0].action, body.data[0].payload],
    ['project.updated', { known_scopes: { old: [], new: known } }],
  )
  const rows = await rowsOf(id)
  for (const same of [{ known_scopes: known }, { strict_scopes: false }, {}]) await set(id, same)
  assert.equal(await rowsOf(id), rows)
  const cleared = await set(id, { known_scopes: [], strict_scopes: true })
  assert.deepEqual([cleared.body.known_scopes, cleared.body.strict_scopes], [[], true])
  assert.equal(await versionOf(id), version)
})

test('a fault of the list is refused by its place', async () => {
  const { id } = await makeProject(harness, vendor)
  for (const [known_scopes, path] of [
    [['a', ''], 'known_scopes.1'],
    [['a', 'x'.repeat(201)], 'known_scopes.1'],
    [['a', 'b', 'a'], 'known_scopes'],
    [Array.from({ length: 201 }, (_, n) => `s${n}`), 'known_scopes'],
    [null, 'known_scopes'],
    ['a', 'known_scopes'],
  ] as const) {
    const { status, body } = await set(id, { known_scopes })
    assert.deepEqual([status, body.errors?.[0]?.path], [400, path], JSON.stringify(known_scopes))
  }
  const many = Array.from({ length: 200 }, (_, n) => `${n}`.padEnd(200, 'é'))
  assert.deepEqual((await set(id, { known_scopes: many })).body.known_scopes, many)
})

test('without strict_scopes the list refuses nothing', async () => {
  const { create } = await withRules({ known_scopes: known })
  const { status, body } = await create(['refunds', 'chrges:read'])
  assert.deepEqual([status, body.scopes], [201, ['refunds', 'chrges:read']])
})

test('a strict project refuses a scope beyond the list by its place, and writes nothing', async () => {
  const { create, projectId } = await withRules({ known_scopes: known, strict_scopes: true })
  const version = await versionOf(projectId)
  const refused = await create(['refunds', 'chrges:read'])
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.errors],
    [
      400,
      'validation_failed',
      [{ path: 'scopes.1', message: 'is not among the known_scopes of the project, which is strict' }],
    ],
  )
  assert.equal((await create(['Refunds'])).body.errors[0].path, 'scopes.0')
  assert.equal(await versionOf(projectId), version)
  for (const scopes of [[], ['refunds'], known]) assert.equal((await create(scopes)).status, 201, `${scopes}`)
})

test('a strict project without a list has keys without scopes only', async () => {
  const { create } = await withRules({ strict_scopes: true })
  assert.equal((await create(['a'])).body.errors[0].path, 'scopes.0')
  assert.equal((await create([])).status, 201)
})

test('a key keeps scopes that its project no longer knows, and gets no other one', async () => {
  const strict = await withRules({ known_scopes: known })
  const { id } = await issueKey(harness, strict, { scopes: ['old', 'refunds'] })
  await set(strict.projectId, { strict_scopes: true })
  const patch = (body: Record<string, unknown>) => ask('PATCH', `/v1/keys/${id}`, { token: live, body })
  assert.equal((await patch({ name: 'renamed' })).status, 200)
  const { status, body } = await patch({ scopes: ['charges:read', 'old', 'older'] })
  assert.deepEqual([status, body.errors?.[0]?.path], [400, 'scopes.2'])
  assert.deepEqual((await patch({ scopes: ['charges:read', 'old'] })).body.scopes, ['charges:read', 'old'])
  const rotated = await ask('POST', `/v1/keys/${id}/rotate`, { token: live })
  assert.deepEqual([rotated.status, rotated.body.scopes], [200, ['charges:read', 'old']])
  assert.deepEqual((await patch({ scopes: [] })).body.scopes, [])
  assert.equal((await patch({ scopes: ['old'] })).body.errors[0].path, 'scopes.0')
})

test('an unknown tenant or project is not found before any scope is judged', async () => {
  const strict = await withRules({ strict_scopes: true })
  const other = await makeVendor(harness)
  for (const place of [{ project_id: other.projectId }, { tenant_id: other.tenantId }]) {
    const body = { project_id: strict.projectId, tenant_id: tenantId, env: 'live', scopes: ['x'], ...place }
    assert.equal((await ask('POST', '/v1/keys', { token: live, body })).status, 404)
  }
})

test('a session offers the known scopes that its token may give, or null without a list', async () => {
  const place = await withRules({})
  const scopes = ['keys:write', 'key_scope:refunds', 'key_scope:beyond', 'key_scope:charges:read']
  const token = await mintToken(harness, place, { scopes })
  const offered = async () => (await ask('GET', '/v1/embed/session', { token })).body.known_scopes
  assert.equal(await offered(), null)
  await set(place.projectId, { known_scopes: known })
  assert.deepEqual(await offered(), ['charges:read', 'refunds'])
  await set(place.projectId, { known_scopes: ['charges:write'] })
  assert.deepEqual(await offered(), [])
  await set(place.projectId, { known_scopes: [] })
  assert.equal(await offered(), null)
  await set(place.projectId, { strict_scopes: true })
  assert.deepEqual(await offered(), [])
})

test('a browser’s key obeys a strict project, whatever its token grants', async () => {
  const strict = await withRules({ known_scopes: known, strict_scopes: true })
  const token = await mintToken(harness, strict, {
    scopes: ['keys:write', 'key_scope:refunds', 'key_scope:beyond'],
  })
  const create = (scopes: string[]) => ask('POST', '/v1/embed/keys', { token, body: { scopes } })
  const { status, body } = await create(['refunds', 'beyond'])
  assert.deepEqual([status, body.errors?.[0]?.path], [400, 'scopes.1'])
  assert.equal((await create(['charges:read'])).body.code, 'insufficient_scope')
  const made = await create(['refunds'])
  assert.equal(made.status, 201)
  await set(strict.projectId, { known_scopes: [] })
  const rotated = await ask('POST', `/v1/embed/keys/${made.body.id}/rotate`, { token })
  assert.deepEqual([rotated.status, rotated.body.scopes], [200, ['refunds']])
})
