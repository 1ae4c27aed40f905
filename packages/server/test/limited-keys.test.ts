import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Permission, permissions } from '@keyrail/contract/vendor/permissions'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { startHarness } from './harness.ts'
import { nameOf, type Sample, sampleOf, withQuery } from './samples.ts'
import { until } from './until.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor, uniqueSlug } from './vendor.ts'

/** Sends requests to every route with limited secret keys: limited to permissions, or to one project. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const other = {
  ...vendor,
  projectId: (await makeProject(harness, vendor)).id,
}

async function makeLimited(limits: Record<string, unknown>): Promise<{ id: string; key: string }> {
  const made = await makeSecretKey(harness, vendor, limits)
  // The first use of a key is written down, and no later one for a minute.
  await ask('GET', '/v1/keys', { token: made.key })
  const unused = 'select from secret_keys where id = $1 and last_used_at is null'
  await until(async () => (await query(unused, [made.id])).length === 0)
  return made
}

const withPermission = routes.flatMap(route =>
  route.access.open || route.access.permission === undefined
    ? []
    : [{ route, access: route.access, permission: route.access.permission }],
)

const keyWith = new Map<Permission, string>()
const keyWithout = new Map<Permission, string>()
for (const one of permissions) {
  keyWith.set(one, (await makeLimited({ permissions: [one] })).key)
  keyWithout.set(one, (await makeLimited({ permissions: permissions.filter(each => each !== one) })).key)
}
const bound = await makeLimited({ project_ids: [vendor.projectId] })

/** Permissions for a part of an answer, which `features.test.ts` of the feed tries. */
const withinAnswers = ['policy:labels']
test('every permission is required by a route, and every secret-key route requires one', () => {
  const asked = new Set([...withPermission.map(({ permission }) => permission), ...withinAnswers])
  assert.deepEqual([...asked].toSorted(), [...permissions].toSorted())
  const takers = routes.filter(({ access }) => !access.open && access.credentials.includes('secret_key'))
  assert.deepEqual(
    takers,
    withPermission.map(({ route }) => route),
  )
})

for (const { route, access, permission } of withPermission) {
  test(`${nameOf(route)} refuses a key that lacks only ${permission}, before validation`, async () => {
    const { url, body } = await sampleOf(route, harness, vendor)
    const before = await dump(query)
    for (const sent of [body, { unknown: 1 }, '{']) {
      const heard = await ask(route.method, url, {
        token: keyWithout.get(permission) ?? '',
        ...(route.method !== 'GET' && sent !== undefined && { body: sent }),
      })
      assert.deepEqual([heard.status, heard.body.code], [403, 'insufficient_permission'])
      assert.ok(heard.body.detail.includes(permission), heard.body.detail)
    }
    assert.deepEqual(await dump(query), before)
  })

  const verdict = access.unlimitedOnly ? 'refuses' : 'accepts'
  test(`${nameOf(route)} ${verdict} a key with only ${permission}`, async () => {
    const { url, body } = await sampleFor(route, permission)
    const heard = await askAs(keyWith.get(permission) ?? '', route, { url, body })
    if (access.unlimitedOnly)
      assert.deepEqual([heard.status, heard.body.code], [403, 'insufficient_permission'])
    else assert.equal(heard.status, route.answer.status, JSON.stringify(heard.body))
  })
}

/** A request that gives no right beyond the permission. */
async function sampleFor(route: Route, permission: Permission): Promise<Pick<Sample, 'url' | 'body'>> {
  const { url, body } = await sampleOf(route, harness, vendor)
  if (route.operation === 'createSecretKey') return { url, body: { ...body, permissions: [permission] } }
  if (route.operation !== 'rotateSecretKey') return { url, ...(body !== undefined && { body }) }
  const { id } = await makeLimited({ permissions: [permission] })
  return { url: `/v1/secret_keys/${id}/rotate` }
}

const askAs = (token: string, { method }: Route, { url, body }: { url: string; body?: unknown }) =>
  ask(method, url, { token, ...(body !== undefined && { body }) })

/**
 * The answer that a key bound to one project gets about another project, by `operation`: the status, and the
 * code of a refusal. Has every route that accepts such keys.
 */
const ofAnother: Record<string, [status: number, code?: string]> = {
  getPolicySnapshot: [404, 'not_found'],
  getPolicyDelta: [404, 'not_found'],
  verifyKey: [404, 'not_found'],
  checkRateLimits: [404, 'not_found'],
  reportRefusals: [404, 'not_found'],
  createEmbedToken: [404, 'not_found'],
  createKey: [404, 'not_found'],
  importKeys: [404, 'not_found'],
  identifyKey: [404, 'not_found'],
  explainKey: [404, 'not_found'],
  getKey: [404, 'not_found'],
  updateKey: [404, 'not_found'],
  rotateKey: [404, 'not_found'],
  revokeKey: [404, 'not_found'],
  disableKey: [404, 'not_found'],
  enableKey: [404, 'not_found'],
  getBulk: [404, 'not_found'],
  // Each id has its own failure, and a filter matches nothing.
  revokeKeys: [200],
  disableKeys: [200],
  enableKeys: [200],
  countKeys: [200],
  getKeyUsage: [404, 'not_found'],
  getProject: [404, 'not_found'],
  updateProject: [404, 'not_found'],
  deleteProject: [404, 'not_found'],
  listNodes: [404, 'not_found'],
  getSecretKey: [404, 'not_found'],
  updateSecretKey: [404, 'not_found'],
  rotateSecretKey: [404, 'not_found'],
  revokeSecretKey: [404, 'not_found'],
  // Without project_ids this would be a key for every project.
  createSecretKey: [403, 'whole_workspace_required'],
  // A text that is no key of the caller's has an explanation.
  explainKeyText: [200, 'unknown_key'],
  // Each check of a list has its own answer.
  checkRateLimitsOfMany: [200],
  // These lists leave out other projects. Tenants belong to no project.
  listKeys: [200],
  listProjects: [200],
  listSecretKeys: [200],
  listTenants: [200],
  getTenant: [200],
  createTenant: [201],
  // Ignores usage of other projects, as of unknown keys.
  reportUsage: [202],
  // Records name no project: a caller that knows the scope owns the record.
  claimIdempotency: [200],
  claimIdempotencyOfMany: [200],
  completeIdempotency: [200],
  releaseIdempotency: [200],
  extendIdempotencyLock: [200],
}

test('every route that accepts a project’s key is in the table, and no other', () => {
  const taking = withPermission
    .filter(({ access }) => access.withinProjects)
    .map(({ route }) => route.operation)
  assert.deepEqual(Object.keys(ofAnother).toSorted(), taking.toSorted())
})

for (const { route, access } of withPermission) {
  test(`${nameOf(route)} hides other projects from a key that is bound to one`, async () => {
    const sample = await sampleOf(route, harness, other)
    const [status, code] = ofAnother[route.operation] ?? [
      403,
      access.unlimitedOnly ? 'insufficient_permission' : 'whole_workspace_required',
    ]
    const before = await dump(query)
    const heard = await askAs(bound.key, route, sample)
    assert.deepEqual([heard.status, heard.body.code], [status, code], JSON.stringify(heard.body))
    const text = JSON.stringify(heard.body)
    assert.ok(!text.includes(other.projectId), text)
    if (route.operation === 'reportUsage') assert.deepEqual([heard.body.accepted, heard.body.ignored], [0, 1])
    if (status < 300) return
    assert.deepEqual(await dump(query), before)
    // The response must equal the one for an unknown id.
    if (status !== 404) return
    const parameter = parameterOf(route.path)
    const unknown =
      parameter === undefined
        ? {
            url: sample.url.replace(other.projectId, randomUUID()),
            ...(sample.body && { body: { ...sample.body, ...unknownFor(route) } }),
          }
        : { ...sample, url: sample.url.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, randomUUID()) }
    const { body } = await askAs(bound.key, route, unknown)
    assert.deepEqual({ ...heard.body, request_id: '' }, { ...body, request_id: '' })
  })
}

/** What a body names, and does not exist. */
const unknownFor = ({ operation }: Route) =>
  operation === 'identifyKey' ? { key: 'unknown' } : { project_id: randomUUID() }

test('a key bound to a project has the same rights there as a key without limits', async () => {
  const ask = (route: Route, sample: Sample) => askAs(bound.key, route, sample)
  for (const { route } of withPermission) {
    const [status] = ofAnother[route.operation] ?? []
    if (status !== 404 || /Project$|SecretKey$/.test(route.operation)) continue
    const heard = await ask(route, await sampleOf(route, harness, vendor))
    assert.equal(heard.status, route.answer.status, `${nameOf(route)} ${JSON.stringify(heard.body)}`)
  }
  const url = `/v1/projects/${vendor.projectId}`
  assert.equal((await harness.ask('GET', url, { token: bound.key })).status, 200)
  assert.equal((await harness.ask('PATCH', url, { token: bound.key, body: { name: 'Renamed' } })).status, 200)
})

test('lists return only the key’s projects, on every page and with every filter', async () => {
  const [own, others] = [[] as string[], [] as string[]]
  for (let i = 0; i < 5; i += 1) {
    own.push((await issueKey(harness, vendor)).id)
    others.push((await issueKey(harness, other)).id)
  }
  const walk = async (url: string) => {
    const ids: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await ask('GET', withQuery(url, `limit=2${cursor && `&cursor=${cursor}`}`), {
        token: bound.key,
      })
      ids.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor
    }
    return ids
  }
  const listed = await walk('/v1/keys?include_revoked=true')
  for (const id of own) assert.ok(listed.includes(id))
  for (const id of others) assert.ok(!listed.includes(id))
  assert.deepEqual(await walk(`/v1/keys?project_id=${other.projectId}`), [])
  assert.deepEqual((await walk(`/v1/keys?project_id=${vendor.projectId}`)).length > 0, true)
  assert.deepEqual(await walk('/v1/projects'), [vendor.projectId])
})

test('a key bound to a project learns that the project is deleted', async () => {
  const { body: doomed } = await ask('POST', '/v1/projects', {
    token: live,
    body: { name: 'Doomed', slug: uniqueSlug() },
  })
  const { id, key } = await makeLimited({ project_ids: [doomed.id], preset: 'node' })
  await ask('DELETE', `/v1/projects/${doomed.id}`, { token: live })
  const url = `/v1/policy/delta?project_id=${doomed.id}&since=1`
  assert.equal((await ask('GET', url, { token: key })).body.project_deleted, true)
  const rotated = await ask('POST', `/v1/secret_keys/${id}/rotate`, { token: live })
  assert.deepEqual(rotated.body.project_ids, [doomed.id])
})
