import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { removeWorkspace } from '../src/workspace/removal.ts'
import { dump } from './dump.ts'
import { mintToken } from './embed.ts'
import { type Heard, startHarness } from './harness.ts'
import { makePerson } from './people.ts'
import { idFor, nameOf, sampleOf, withQuery } from './samples.ts'
import { issueKey, makeInvite, makeSecretKey, makeVendor } from './vendor.ts'

/**
 * An id of another workspace must get the same response as an id that does not exist; otherwise responses reveal
 * what other workspaces have. Covers every route with an id in its path and every field that takes one.
 */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

/** Rows of the other workspace, by the field that names them. A field without an entry fails its test. */
const foreignIds: Record<string, string> = {
  workspace_id: other.workspaceId,
  project_id: other.projectId,
  tenant_id: other.tenantId,
  key_id: (await issueKey(harness, other)).id,
  user_id: (await makePerson(query, { workspaceId: other.workspaceId })).userId,
  target_id: other.tenantId,
  made_by: other.liveId,
}
const deletedIds: Record<string, string> = {
  workspace_id: await removedWorkspace(),
  key_id: await revokedKey(),
  made_by: await revokedMaker(),
  user_id: await formerMember(),
  project_id: await deletedThing('projects', { name: 'gone', slug: 'gone' }),
  tenant_id: await deletedThing('tenants', { external_id: 'gone' }),
}

// Some responses have a time that remains, which is only equal at the same moment.
await harness.setStoreTime(new Date())

const malformed = [
  'x',
  `${randomUUID()}0`,
  randomUUID().replaceAll('-', ''),
  `{${randomUUID()}}`,
  'null',
  '0',
  '%00',
  `${randomUUID()}%00`,
  `${randomUUID()}%0A`,
  '%F0%9F%98%80',
  'a'.repeat(5000),
]

for (const route of routes.filter(({ path }) => parameterOf(path) !== undefined)) {
  test(`${nameOf(route)} answers a foreign id as an unknown one and writes nothing`, async () => {
    const { url, token: asker = '', body } = await sampleOf(route, harness, vendor)
    const [own = ''] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(url) ?? []
    const to = (id: string, token = asker) =>
      ask(route.method, url.replace(own, id), { token, ...(body !== undefined && { body }) })
    const foreign = await foreignIdFor(route)
    const live = carriesEnv(route) ? await idFor(route, harness, vendor) : null
    const before = await dump(query)

    const expected = await to(randomUUID())
    assert.equal(expected.status, 404)
    assert.equal(expected.body.code, 'not_found')
    assertSame(await to(foreign), expected, 'another workspace’s')
    assertSame(await to(foreign.toUpperCase()), expected, 'another workspace’s, in capitals')
    if (own !== vendor.workspaceId)
      assertSame(await to(vendor.workspaceId), expected, 'the id of the workspace itself')
    for (const id of ['', ...malformed]) assertSame(await to(id), expected, id.slice(0, 50))
    const deleted = deletedIds[url.includes('/projects/') ? 'project_id' : 'tenant_id'] ?? ''
    assertSame(await to(deleted), expected, 'a deleted one, or one of another kind')
    if (live !== null) {
      const test = route.plane === 'embed' ? await mintToken(harness, vendor, { env: 'test' }) : vendor.test
      assertSame(await to(randomUUID(), test), expected, 'unknown, with a test credential')
      assertSame(await to(live, test), expected, 'live, with a test credential')
    }
    assert.deepEqual(await dump(query), before)
  })
}

/** Sessions belong to a person, not a workspace, so another person's session is the foreign one. */
async function foreignIdFor(route: Route): Promise<string> {
  if (route.path.startsWith('/v1/auth/workspaces/')) return other.workspaceId
  return route.plane === 'person' ? (await makePerson(query)).sessionId : await idFor(route, harness, other)
}

async function revokedMaker(): Promise<string> {
  const { id } = await makeSecretKey(harness, vendor)
  await ask('POST', `/v1/secret_keys/${id}/revoke`, { token: vendor.live })
  return id
}

/** Keys of both kinds have an environment; projects and tenants are shared by both. */
const carriesEnv = ({ path }: Route) => path.includes('keys/:id')

for (const { route, place, field, required } of idFields()) {
  test(`${nameOf(route)} answers a foreign ${field} in its ${place} as an unknown one`, async () => {
    const sample = await sampleOf(route, harness, vendor)
    const by = sample.token === undefined ? {} : { token: sample.token }
    const withId = (id: unknown) =>
      place === 'query'
        ? ask(route.method, withQuery(sample.url, `${field}=${id}`), by)
        : ask(route.method, sample.url, { ...by, body: { ...sample.body, [field]: id } })
    const foreign = foreignIds[field]
    const deleted = deletedIds[field] ?? ''
    assert.ok(foreign && (deleted || field === 'target_id'), `no entry for ${field}`)
    const before = await dump(query)

    const expected = await withId(randomUUID())
    assert.equal(expected.status, refusalOf(route, field, required))
    if (!required && route.method === 'GET')
      assert.deepEqual(expected.body.data.filter(isFound), [], 'the list is empty, or each day is 0')
    assertSame(await withId(foreign), expected, 'another workspace’s')
    // The audit log has rows about everything, and keeps those about what is deleted.
    if (field === 'target_id') return
    assertSame(await withId(vendor.workspaceId), expected, 'a thing of another kind')
    // A node must learn that its project is deleted, or it would serve the last policy for as long as it may.
    if (route.plane === 'feed') assert.equal((await withId(deleted)).body.project_deleted, true)
    else assertSame(await withId(deleted), expected, 'a deleted one')
    for (const id of place === 'query' ? malformed : [...malformed, '', 0, true, [randomUUID()], { id: 1 }]) {
      const { status, body } = await withId(id)
      assert.deepEqual([status, body.code, body.errors[0].path], [400, 'validation_failed', field], `${id}`)
    }
    assert.deepEqual(await dump(query), before)
  })
}

test('a list never shows rows of another workspace', async () => {
  const { workspaceId, projectId, tenantId, liveId, testId } = other
  const { userId, sessionId, email } = await makePerson(query, { workspaceId })
  const inviteId = (await makeInvite(harness, other)).id
  const ids = [workspaceId, projectId, tenantId, liveId, testId, userId, sessionId, email, inviteId]
  const lists = routes.filter(({ method, path }) => method === 'GET' && !path.includes(':id'))
  for (const route of lists.filter(({ access }) => !access.open)) {
    const { url, token = '' } = await sampleOf(route, harness, vendor)
    const { status, body } = await ask('GET', url, { token })
    assert.equal(status, 200)
    const text = JSON.stringify(body)
    for (const id of ids) assert.ok(!text.includes(id), `${nameOf(route)} shows ${id}`)
  }
})

/** A row of a list, or a day of a figure with requests. */
const isFound = (row: { request_count?: number }) => row.request_count !== 0

/** The status for an id that does not exist. */
function refusalOf({ plane, operation }: Route, field: string, required: boolean): number {
  // The response does not reveal which workspaces exist, only that the person is not a member of this one.
  if (field === 'workspace_id') return 403
  // The hot plane looks up the project of a key. Other ids only name counters within the caller's workspace.
  return required && (plane !== 'hot' || operation === 'verifyKey') ? 404 : 200
}

/**
 * Every field of a query or body that is the UUID of a row. The sender draws the id of a report, so it is left
 * out. An export leaves an audit row, whatever it finds; its own test has its filters.
 */
function idFields() {
  return routes
    .filter(({ operation }) => operation !== 'exportKeys')
    .flatMap(route =>
      (['query', 'body'] as const).flatMap(place => {
        const {
          properties = {},
          required = [],
          oneOf = [],
        } = (route[place] ?? {}) as {
          properties?: Record<string, { format?: string }>
          required?: string[]
          oneOf?: { required: string[] }[]
        }
        return Object.entries(properties)
          .filter(([field, { format }]) => format === 'uuid' && field !== 'report_id')
          .map(([field]) => ({
            route,
            place,
            field,
            required: [required, ...oneOf.map(one => one.required)].flat().includes(field),
          }))
      }),
    )
}

/** A workspace that the operator has removed. */
async function removedWorkspace(): Promise<string> {
  const { workspaceId } = await makeVendor(harness)
  const client = new pg.Client(harness.connection)
  await client.connect()
  await removeWorkspace(client, workspaceId)
  await client.end()
  return workspaceId
}

async function formerMember(): Promise<string> {
  const { userId } = await makePerson(query, { workspaceId: vendor.workspaceId })
  assert.equal((await ask('DELETE', `/v1/members/${userId}`, { token: vendor.live })).status, 200)
  return userId
}

async function revokedKey(): Promise<string> {
  const { id } = await issueKey(harness, vendor)
  assert.equal((await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })).status, 200)
  return id
}

async function deletedThing(noun: string, body: object): Promise<string> {
  const { body: made } = await ask('POST', `/v1/${noun}`, { token: vendor.live, body })
  const { status } = await ask('DELETE', `/v1/${noun}/${made.id}`, { token: vendor.live })
  assert.equal(status, 200)
  return made.id
}

/** Asserts the same status, body and headers, apart from what differs between any two responses. */
function assertSame(heard: Heard, expected: Heard, what: string): void {
  const visible = ({ status, headers, body }: Heard) => ({
    status,
    body: { ...body, request_id: undefined },
    headers: { ...headers, 'x-request-id': undefined, date: undefined, 'content-length': undefined },
  })
  assert.deepEqual(visible(heard), visible(expected), what)
}
