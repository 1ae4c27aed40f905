import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeTenant, makeVendor } from '../../test/vendor.ts'

/** How long keys of a project live at most, and what may not be deleted. */
const harness = await startHarness()
const { ask, query, clock } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const dayMs = 86_400_000
const inDays = (days: number) => new Date(clock.now() + days * dayMs).toISOString()

const set = (id: string, body: Record<string, unknown>) =>
  ask('PATCH', `/v1/projects/${id}`, { token: live, body })
const makeRuled = async (rules: Record<string, unknown>) => {
  const { id } = await makeProject(harness, vendor)
  const { status, body } = await set(id, rules)
  assert.equal(status, 200, JSON.stringify(body))
  return id
}
const tryKey = (project_id: string, more = {}) =>
  ask('POST', '/v1/keys', {
    token: live,
    body: { project_id, tenant_id: vendor.tenantId, env: 'live', ...more },
  })
const versionOf = async (id: string) =>
  (await query('select version from policy_heads where project_id = $1', [id]))[0].version

test('a project has no rule at first, returns what was set, and audits the change', async () => {
  const { id, ...made } = await makeProject(harness, vendor)
  const rulesOf = ({ max_key_lifetime_days, lifetime, delete_protection }: Record<string, unknown>) => [
    max_key_lifetime_days,
    lifetime,
    delete_protection,
  ]
  assert.deepEqual(rulesOf(made), [null, 'report', false])
  const version = await versionOf(id)
  const { body } = await set(id, { max_key_lifetime_days: 90, delete_protection: true })
  assert.deepEqual(rulesOf(body), [90, 'report', true])
  const [row] = (await ask('GET', '/v1/audit_logs?order=desc&limit=1', { token: live })).body.data
  assert.deepEqual(row.payload, {
    max_key_lifetime_days: { old: null, new: 90 },
    delete_protection: { old: false, new: true },
  })
  // Only what nodes refuse concerns them.
  assert.equal(await versionOf(id), version)
  assert.deepEqual(rulesOf((await set(id, { lifetime: 'refuse' })).body), [90, 'refuse', true])
  assert.equal(Number(await versionOf(id)), Number(version) + 1)
  const given = { name: 'n', slug: `given-${id}`, max_key_lifetime_days: 1, lifetime: 'refuse' }
  const created = await ask('POST', '/v1/projects', { token: live, body: given })
  assert.deepEqual(rulesOf(created.body), [1, 'refuse', false])
})

test('a fault of a rule is refused by its name', async () => {
  const { id } = await makeProject(harness, vendor)
  for (const [body, path] of [
    [{ max_key_lifetime_days: 0 }, 'max_key_lifetime_days'],
    [{ max_key_lifetime_days: 3_651 }, 'max_key_lifetime_days'],
    [{ max_key_lifetime_days: 1.5 }, 'max_key_lifetime_days'],
    [{ lifetime: 'warn' }, 'lifetime'],
    [{ lifetime: null }, 'lifetime'],
    [{ delete_protection: 'yes' }, 'delete_protection'],
  ] as const) {
    const { status, body: refused } = await set(id, body)
    assert.deepEqual([status, refused.errors[0].path], [400, path])
  }
})

test('a key without an end gets the longest, an earlier one stays, and a later one is refused', async () => {
  const project = await makeRuled({ max_key_lifetime_days: 30 })
  assert.equal((await tryKey(project)).body.expires_at, inDays(30))
  const earlier = inDays(29)
  assert.equal((await tryKey(project, { expires_at: earlier })).body.expires_at, earlier)
  assert.equal((await tryKey(project, { expires_at: inDays(30) })).status, 201)
  const { status, body } = await tryKey(project, { expires_at: inDays(31) })
  assert.deepEqual([status, body.errors[0].path], [400, 'expires_at'])
  assert.match(body.errors[0].message, /at most 30 days/)
})

test('a key that a customer creates has the same end', async () => {
  const project = await makeRuled({ max_key_lifetime_days: 7 })
  const token = await mintToken(harness, { ...vendor, projectId: project })
  const { body } = await ask('POST', '/v1/embed/keys', { token, body: { name: 'Own' } })
  assert.equal(body.expires_at, inDays(7))
})

test('an end can come nearer, and not go beyond the rule', async () => {
  const { id: project } = await makeProject(harness, vendor)
  const endless = await issueKey(harness, vendor, { project_id: project })
  const far = await issueKey(harness, vendor, { project_id: project, expires_at: inDays(300) })
  await set(project, { max_key_lifetime_days: 30 })
  const move = async (id: string, expires_at: string | null) => {
    const { status, body } = await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { expires_at } })
    return status === 200 ? body.expires_at : body.errors[0].path
  }
  assert.equal(await move(endless.id, null), null)
  const [hundred, tenth, twentieth] = [inDays(100), inDays(10), inDays(20)]
  assert.equal(await move(endless.id, hundred), hundred)
  assert.equal(await move(endless.id, inDays(101)), 'expires_at')
  assert.equal(await move(far.id, tenth), tenth)
  assert.equal(await move(far.id, twentieth), twentieth)
  assert.equal(await move(far.id, inDays(31)), 'expires_at')
  assert.equal(await move(far.id, null), 'expires_at')
  const { status } = await ask('PATCH', `/v1/keys/${endless.id}`, { token: live, body: { name: 'n' } })
  assert.equal(status, 200)
})

test('a successor ends with the rule, however long its predecessor may live', async () => {
  const { id: project } = await makeProject(harness, vendor)
  const issue = (more = {}) => issueKey(harness, vendor, { project_id: project, ...more })
  const [endless, far, near] = [
    await issue(),
    await issue({ expires_at: inDays(300) }),
    await issue({ expires_at: inDays(5) }),
  ]
  await set(project, { max_key_lifetime_days: 30 })
  const rotate = async ({ id }: { id: string }) =>
    (await ask('POST', `/v1/keys/${id}/rotate`, { token: live, body: { overlap_hours: 1 } })).body.expires_at
  assert.deepEqual(
    [await rotate(endless), await rotate(far), await rotate(near)],
    [inDays(30), inDays(30), inDays(5)],
  )
})

test('a rotation begins an end of the rule again, and keeps an end that someone chose', async () => {
  const project = await makeRuled({ max_key_lifetime_days: 30 })
  const [ruled, chosen] = [
    await issueKey(harness, vendor, { project_id: project }),
    await issueKey(harness, vendor, { project_id: project, expires_at: inDays(29) }),
  ]
  await query(
    `update api_keys set created_at = created_at - interval '20 days', expires_at = expires_at - interval '20 days'
     where project_id = $1`,
    [project],
  )
  const rotate = async ({ id }: { id: string }) =>
    (await ask('POST', `/v1/keys/${id}/rotate`, { token: live })).body.expires_at
  assert.deepEqual([await rotate(ruled), await rotate(chosen)], [inDays(30), inDays(9)])
})

test('what is protected is not deleted, with its keys, until someone ends the protection', async () => {
  const project = await makeRuled({ delete_protection: true })
  const { id: tenant } = await makeTenant(harness, vendor, { delete_protection: true })
  const key = await issueKey(harness, vendor, { project_id: project, tenant_id: tenant })
  const remove = (path: string) => ask('DELETE', `/v1/${path}`, { token: live })
  const rows = async () => (await query('select count(*)::int as n from audit_logs'))[0].n
  const before = await rows()
  const version = await versionOf(project)
  for (const path of [`projects/${project}`, `tenants/${tenant}`]) {
    const { status, body } = await remove(path)
    assert.deepEqual([status, body.code], [409, 'protected'])
    assert.match(body.detail, /delete_protection/)
  }
  const read = await ask('GET', `/v1/keys/${key.id}`, { token: live })
  assert.deepEqual([read.body.revoked_at, await rows(), await versionOf(project)], [null, before, version])
  for (const path of [`projects/${project}`, `tenants/${tenant}`]) {
    const body = { delete_protection: false }
    assert.equal((await ask('PATCH', `/v1/${path}`, { token: live, body })).status, 200)
  }
  const ended = await query(
    `select action from audit_logs where workspace_id = $1 and payload::json->'delete_protection'->>'new' = 'false'`,
    [vendor.workspaceId],
  )
  assert.deepEqual(
    ended.map(({ action }) => action),
    ['project.updated', 'tenant.updated'],
  )
  // Nodes know nothing of it.
  assert.equal(await versionOf(project), version)
  assert.equal((await remove(`tenants/${tenant}`)).status, 200)
  assert.equal((await remove(`projects/${project}`)).status, 200)
})
