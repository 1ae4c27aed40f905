import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { permissions, presets } from '@keyrail/contract/vendor/permissions'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'

/** The limits that a secret key can have, how they are stored, and that no key can exceed its own. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)
const { live, projectId } = vendor
const makeProject = async () =>
  (await ask('POST', '/v1/projects', { token: live, body: { name: 'n', slug: uniqueSlug() } })).body.id
const secondProject: string = await makeProject()

const create = (body: Record<string, unknown>, token = live) =>
  ask('POST', '/v1/secret_keys', { token, body: { env: 'live', ...body } })
async function make(body: Record<string, unknown>, token = live) {
  const made = await create(body, token)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

test('a key without limits returns null for each of them', async () => {
  const { permissions, project_ids, allowed_cidrs } = await make({})
  assert.deepEqual([permissions, project_ids, allowed_cidrs], [null, null, null])
})

test('limits are normalised, returned, audited, and kept by a rotation', async () => {
  const limits = {
    permissions: ['keys:write', 'policy:read'],
    project_ids: [projectId.toUpperCase(), secondProject],
    allowed_cidrs: ['::FFFF:127.0.0.0/104', '2001:DB8::/32', '127.0.0.0/8'],
  }
  const kept = {
    permissions: ['policy:read', 'keys:write'],
    project_ids: [projectId, secondProject],
    allowed_cidrs: ['127.0.0.0/8', '2001:db8::/32'],
  }
  const only = ({ permissions, project_ids, allowed_cidrs }: typeof kept) => ({
    permissions,
    project_ids,
    allowed_cidrs,
  })
  const made = await make(limits)
  assert.deepEqual(only(made), kept)
  assert.deepEqual(only((await ask('GET', `/v1/secret_keys/${made.id}`, { token: live })).body), kept)
  const rotated = await ask('POST', `/v1/secret_keys/${made.id}/rotate`, { token: live })
  assert.deepEqual(only(rotated.body), kept)
  const [row] = await query(
    `select payload::json as payload from audit_logs where target_id = $1 and action = 'secret_key.created'`,
    [made.id],
  )
  assert.deepEqual(only(row.payload), kept)
})

test('a preset is stored as its permissions', async () => {
  for (const [preset, expected] of Object.entries(presets)) {
    assert.deepEqual((await make({ preset })).permissions, expected)
  }
})

const wrong: [path: string, body: Record<string, unknown>][] = [
  ['permissions', { permissions: [] }],
  ['permissions', { permissions: null }],
  ['permissions', { permissions: 'keys:read' }],
  ['permissions', { permissions: ['keys:read', 'keys:read'] }],
  ['permissions', { permissions: [...permissions, 'policy:read'] }],
  ['permissions.0', { permissions: ['keys'] }],
  ['permissions.1', { permissions: ['keys:read', 'keys:delete'] }],
  ['permissions.0', { permissions: [1] }],
  ['preset', { preset: 'admin' }],
  ['preset', { preset: ['node'] }],
  ['preset', { preset: 'node', permissions: ['keys:read'] }],
  ['project_ids', { project_ids: [] }],
  ['project_ids', { project_ids: [projectId, projectId] }],
  ['project_ids', { project_ids: Array.from({ length: 51 }, () => randomUUID()) }],
  ['project_ids.0', { project_ids: ['x'] }],
  ['project_ids.1', { project_ids: [projectId, null] }],
  ['allowed_cidrs', { allowed_cidrs: [] }],
  ['allowed_cidrs', { allowed_cidrs: Array.from({ length: 33 }, (_, i) => `10.0.0.${i}`) }],
  ['allowed_cidrs.0', { allowed_cidrs: [''] }],
  ['allowed_cidrs.0', { allowed_cidrs: ['1'.repeat(65)] }],
  ['allowed_cidrs.0', { allowed_cidrs: ['everywhere'] }],
  ['allowed_cidrs.1', { allowed_cidrs: ['10.0.0.0/8', '10.0.0.1/8'] }],
  ['allowed_cidrs.0', { allowed_cidrs: ['fe80::1%eth0'] }],
  ['allowed_cidrs.0', { allowed_cidrs: [10] }],
]
for (const [path, body] of wrong) {
  test(`${JSON.stringify(body).slice(0, 60)} is refused by its path and writes nothing`, async () => {
    const count = async () => (await query('select count(*) from secret_keys'))[0].count
    const before = await count()
    const { status, body: problem } = await create(body)
    assert.deepEqual([status, problem.code, problem.errors?.[0].path], [400, 'validation_failed', path])
    assert.equal(await count(), before)
  })
}

test('the maximum number of each limit is accepted', async () => {
  await make({ permissions, allowed_cidrs: Array.from({ length: 32 }, (_, i) => `2001:db8:0:${i}::/64`) })
})

test('a key cannot be bound to a deleted, foreign or unknown project', async () => {
  const deleted = await makeProject()
  assert.equal((await ask('DELETE', `/v1/projects/${deleted}`, { token: live })).status, 200)
  for (const id of [deleted, other.projectId, randomUUID(), vendor.tenantId]) {
    const { status, body } = await create({ project_ids: [projectId, id] })
    assert.deepEqual([status, body.code], [404, 'not_found'])
  }
})

const refused = async (answer: ReturnType<typeof create>, status: number, code: string, detail?: RegExp) => {
  const { status: heard, body } = await answer
  assert.deepEqual([heard, body.code], [status, code], JSON.stringify(body))
  if (detail !== undefined) assert.match(body.detail, detail)
}
const rotate = (id: string, token: string) => ask('POST', `/v1/secret_keys/${id}/rotate`, { token })

test('a key grants only permissions that it has, and cannot rotate a key with more', async () => {
  const own = ['secret_keys:write', 'secret_keys:read', 'policy:read']
  const { id, key } = await make({ permissions: own })
  assert.deepEqual((await make({ permissions: ['policy:read'] }, key)).permissions, ['policy:read'])
  await refused(create({}, key), 403, 'insufficient_permission', /permissions/)
  await refused(
    create({ permissions: ['policy:read', 'keys:write'] }, key),
    403,
    'insufficient_permission',
    /keys:write/,
  )
  await refused(create({ preset: 'embed' }, key), 403, 'insufficient_permission', /embed:mint/)
  await refused(rotate(vendor.liveId, key), 403, 'insufficient_permission')
  await refused(
    rotate((await make({ preset: 'embed' })).id, key),
    403,
    'insufficient_permission',
    /embed:mint/,
  )
  assert.deepEqual((await rotate((await make({ permissions: ['policy:read'] })).id, key)).status, 200)
  assert.deepEqual((await rotate(id, key)).body.permissions.toSorted(), own.toSorted())
})

test('a key bound to projects creates and sees only keys bound to some of them', async () => {
  const { key } = await make({ project_ids: [projectId] })
  assert.deepEqual((await make({ project_ids: [projectId] }, key)).project_ids, [projectId])
  await refused(create({}, key), 403, 'whole_workspace_required', /project_ids/)
  await refused(create({ project_ids: [secondProject] }, key), 404, 'not_found')
  await refused(create({ project_ids: [projectId, secondProject] }, key), 404, 'not_found')
  await refused(create({ project_ids: [randomUUID()] }, key), 404, 'not_found')
  const wider = await make({ project_ids: [projectId, secondProject] })
  for (const id of [vendor.liveId, wider.id]) {
    await refused(rotate(id, key), 404, 'not_found')
    await refused(ask('GET', `/v1/secret_keys/${id}`, { token: key }), 404, 'not_found')
    await refused(ask('POST', `/v1/secret_keys/${id}/revoke`, { token: key }), 404, 'not_found')
  }
  const { body } = await ask('GET', '/v1/secret_keys?limit=200&include_revoked=true', { token: key })
  assert.ok(body.data.length >= 2)
  for (const one of body.data) assert.deepEqual(one.project_ids, [projectId])
})

test('a key bound to networks creates only keys for the same or narrower ones', async () => {
  const { key } = await make({ allowed_cidrs: ['127.0.0.0/8', '2001:db8::/32'] })
  const made = await make({ allowed_cidrs: ['127.0.0.1', '2001:db8::/64'] }, key)
  assert.deepEqual(made.allowed_cidrs, ['127.0.0.1/32', '2001:db8::/64'])
  for (const body of [
    {},
    { allowed_cidrs: ['127.0.0.0/7'] },
    { allowed_cidrs: ['126.0.0.0/7'] },
    { allowed_cidrs: ['10.0.0.0/8'] },
    { allowed_cidrs: ['127.0.0.1', '::/0'] },
  ]) {
    const { status } = await create(body, key)
    assert.equal(status, JSON.stringify(body).includes('127.0.0.0/7') ? 400 : 403, JSON.stringify(body))
  }
  await refused(rotate(vendor.liveId, key), 403, 'insufficient_permission', /allowed_cidrs/)
})

test('a limited key cannot invite or promote anyone; an unlimited one can', async () => {
  const person = await makePerson(query, { workspaceId: vendor.workspaceId })
  const limited = [
    { permissions: ['members:write'] },
    { permissions: [...permissions] },
    { project_ids: [projectId] },
    { allowed_cidrs: ['127.0.0.1'] },
  ]
  const invite = (token: string, role = 'member') =>
    ask('POST', '/v1/invites', { token, body: { email: `${randomUUID()}@example.com`, role } })
  const raise = (token: string) =>
    ask('PATCH', `/v1/members/${person.userId}`, { token, body: { role: 'admin' } })
  for (const limits of limited) {
    const { key } = await make(limits)
    for (const role of ['member', 'admin', 'owner'])
      await refused(invite(key, role), 403, 'insufficient_permission')
    await refused(raise(key), 403, 'insufficient_permission')
  }
  const [{ count }] = await query('select count(*) from workspace_invites')
  assert.equal(Number(count), 0)
  assert.equal((await invite(live)).status, 201)
  assert.equal((await raise(live)).status, 200)
})
