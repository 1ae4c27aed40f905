import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import pg from 'pg'
import { parameterOf, type Route } from '../src/gate/route.ts'
import { removeWorkspace } from '../src/platform/db/workspace-removal.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { mintToken } from './embed.ts'
import { type Heard, startHarness } from './harness.ts'
import { makeInvite } from './mutations.ts'
import { makePerson } from './people.ts'
import { idFor, nameOf, sampleOf, withQuery } from './samples.ts'
import { issueKey, makeVendor } from './vendor.ts'

/**
 * An id that is not the caller's must be answered as one that nobody has: else answers tell what exists
 * elsewhere. Walked over every route with an id in its path and over every field that takes one.
 */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

/** Things of the other workspace by the field that names them. A field without an entry fails its test. */
const foreignIds: Record<string, string> = {
  workspace_id: other.workspaceId,
  project_id: other.projectId,
  tenant_id: other.tenantId,
  key_id: (await issueKey(harness, other)).id,
  user_id: (await makePerson(query, { workspaceId: other.workspaceId })).userId,
}
const deletedIds: Record<string, string> = {
  workspace_id: await removedWorkspace(),
  key_id: await revokedKey(),
  user_id: await formerMember(),
  project_id: await deletedThing('projects', { name: 'gone', slug: 'gone' }),
  tenant_id: await deletedThing('tenants', { external_id: 'gone' }),
}

// An answer that tells how long something still takes is the same one only at the same moment.
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
  test(`${nameOf(route)} answers an id of elsewhere as one that nobody has, and writes nothing`, async () => {
    const { url, token: asker = '', body } = await sampleOf(route, harness, vendor)
    const [own = ''] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(url) ?? []
    const to = (id: string, token = asker) =>
      ask(route.method, url.replace(own, id), { token, ...(body !== undefined && { body }) })
    const foreign = await foreignIdFor(route)
    const live = carriesEnv(route) ? await idFor(route, harness, vendor) : null
    const before = await dump(query)

    const nobodys = await to(randomUUID())
    assert.equal(nobodys.status, 404)
    assert.equal(nobodys.body.code, 'not_found')
    assertSame(await to(foreign), nobodys, 'another workspace’s')
    assertSame(await to(foreign.toUpperCase()), nobodys, 'another workspace’s in capitals')
    assertSame(await to(vendor.workspaceId), nobodys, 'the workspace’s own')
    for (const id of ['', ...malformed]) assertSame(await to(id), nobodys, id.slice(0, 50))
    const deleted = deletedIds[url.includes('/projects/') ? 'project_id' : 'tenant_id'] ?? ''
    assertSame(await to(deleted), nobodys, 'a deleted one, or one of another kind')
    if (live !== null) {
      const test = route.plane === 'embed' ? await mintToken(harness, vendor, { env: 'test' }) : vendor.test
      assertSame(await to(randomUUID(), test), nobodys, 'nobody’s, asked for with a test credential')
      assertSame(await to(live, test), nobodys, 'a live thing, asked for with a test credential')
    }
    assert.deepEqual(await dump(query), before)
  })
}

/** What a person has is of no workspace: that of another person is as foreign. */
async function foreignIdFor(route: Route): Promise<string> {
  return route.plane === 'person' ? (await makePerson(query)).sessionId : await idFor(route, harness, other)
}

/** Keys of both kinds have an environment; projects and tenants are the same ones for both. */
const carriesEnv = ({ path }: Route) => path.includes('keys/:id')

for (const { route, place, field, required } of idFields()) {
  test(`${nameOf(route)} answers a ${field} of elsewhere in its ${place} as one that nobody has, and writes nothing`, async () => {
    const sample = await sampleOf(route, harness, vendor)
    const by = sample.token === undefined ? {} : { token: sample.token }
    const withId = (id: unknown) =>
      place === 'query'
        ? ask(route.method, withQuery(sample.url, `${field}=${id}`), by)
        : ask(route.method, sample.url, { ...by, body: { ...sample.body, [field]: id } })
    const foreign = foreignIds[field]
    const deleted = deletedIds[field]
    assert.ok(foreign && deleted, `no entry for ${field}`)
    const before = await dump(query)

    const nobodys = await withId(randomUUID())
    assert.equal(nobodys.status, refusalOf(route, field, required))
    if (!required && route.method === 'GET') assert.deepEqual(nobodys.body.data, [])
    assertSame(await withId(foreign), nobodys, 'another workspace’s')
    assertSame(await withId(vendor.workspaceId), nobodys, 'a thing of another kind')
    // A node must be told that its project is gone, or it would serve the last policy as long as it may.
    if (route.plane === 'feed') assert.equal((await withId(deleted)).body.project_deleted, true)
    else assertSame(await withId(deleted), nobodys, 'a deleted one')
    for (const id of place === 'query' ? malformed : [...malformed, '', 0, true, [randomUUID()], { id: 1 }]) {
      const { status, body } = await withId(id)
      assert.deepEqual([status, body.code, body.errors[0].path], [400, 'validation_failed', field], `${id}`)
    }
    assert.deepEqual(await dump(query), before)
  })
}

test('a list never shows what is of another workspace', async () => {
  const { workspaceId, projectId, tenantId, liveId, testId } = other
  const { userId, sessionId, email } = await makePerson(query, { workspaceId })
  const inviteId = (await makeInvite({ ask, scene: other })).id
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

/** What an id that nobody has is answered with. */
function refusalOf({ plane }: Route, field: string, required: boolean): number {
  // Nobody is told which workspaces there are, only that the person is in none of this id.
  if (field === 'workspace_id') return 403
  // On the request path an id names counters of one's own workspace, and is looked up nowhere.
  return required && plane !== 'hot' ? 404 : 200
}

/** Every field of a query or body that is the UUID of a thing. The id of a report is its sender's, who draws it. */
function idFields() {
  return routes.flatMap(route =>
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

/** One that its operator has removed for good. */
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

/** The same status, body and headers, but for what differs between any two answers. */
function assertSame(heard: Heard, expected: Heard, what: string): void {
  const told = ({ status, headers, body }: Heard) => ({
    status,
    body: { ...body, request_id: undefined },
    headers: { ...headers, 'x-request-id': undefined, date: undefined, 'content-length': undefined },
  })
  assert.deepEqual(told(heard), told(expected), what)
}
