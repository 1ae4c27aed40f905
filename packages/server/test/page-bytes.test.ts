import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { largeBytesMax } from '../src/platform/http/body/large-bodies.ts'
import { pageLimits } from '../src/platform/paging/listed.ts'
import { routes } from '../src/routes.ts'
import { mintToken } from './embed.ts'
import { startHarness } from './harness.ts'
import { makePerson, openSession } from './people.ts'
import { nameOf } from './samples.ts'
import { issueKey, makeInvite, makeSecretKey, makeVendor, type Vendor } from './vendor.ts'

/** Every list ends a page at a number of bytes, whatever its `limit` says, and goes on with its cursor. */
const harness = await startHarness()
const { ask, query, deps } = harness
const { bytesMax } = pageLimits
const setBytesMax = (bytes: number) => Object.assign(pageLimits, { bytesMax: bytes })
afterEach(() => setBytesMax(bytesMax))

const vendor = await makeVendor(harness)
const sam = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
await makePerson(query, { workspaceId: vendor.workspaceId, role: 'member' })
const named = { name: 'page of a list' }
for (const n of [1, 2, 3]) {
  const { id } = await issueKey(harness, vendor, named)
  if (n === 3) await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: randomUUID(), ...named } })
  await ask('POST', '/v1/projects', { token: vendor.live, body: { slug: `page-${n}`, ...named } })
  await makeSecretKey(harness, vendor)
  await makeInvite(harness, vendor)
  await openSession(query, sam.userId)
  await query(
    `insert into security_events (workspace_id, id, user_id, kind, count, details, created_at, last_at)
     values ($1, $2, $3, 'sign_in', 1, '{}', service_now(), service_now())`,
    [vendor.workspaceId, randomUUID(), sam.userId],
  )
  await query(
    `insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
     values ($1, $2, 'live', $3, 1, service_now())`,
    [vendor.workspaceId, vendor.projectId, `node-${n}`],
  )
  await query(
    `insert into usage_months (workspace_id, project_id, tenant_id, env, month, requests, estimated)
     values ($1, $2, $3, 'live', date_trunc('month', service_now())::date, 1, false)`,
    [vendor.workspaceId, vendor.projectId, randomUUID()],
  )
}
const embedToken = await mintToken(harness, vendor)

/** What else to ask of some lists: searches, filters and orders read in other ways. */
const more: Record<string, readonly string[]> = {
  listKeys: ['', 'q=page', 'status=active', 'include_revoked=true', 'include_revoked=true&q=kr'],
  listTenants: ['', 'q=page'],
  listProjects: ['', 'q=page'],
  listAuditLogs: ['action=tenant.created', 'action=tenant.created&order=desc', `actor_id=${vendor.liveId}`],
}

const isList = ({ answer, method }: Route) => {
  const { properties = {} } = answer.schema as { properties?: Record<string, { const?: string }> }
  return method === 'GET' && properties.object?.const === 'list' && properties.next_cursor !== undefined
}
const tokenOf = ({ plane }: Route, { live }: Vendor) =>
  plane === 'embed' ? embedToken : plane === 'person' ? sam.token : live

/** Reads all pages. @returns the items of each. */
async function walk(url: string, token: string, limit = 200): Promise<unknown[][]> {
  const pages: unknown[][] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await ask('GET', `${url}&limit=${limit}${cursor}`, { token })
    assert.equal(status, 200, JSON.stringify(body))
    pages.push(body.data)
    assert.equal(body.has_more, body.next_cursor !== null)
    if (!body.has_more) return pages
    assert.ok(pages.length < 500, 'the pages do not end')
    cursor = `&cursor=${body.next_cursor}`
  }
}

const lists = routes.filter(isList)
test('the lists of the API are known', () => {
  assert.ok(lists.length >= 13, lists.map(nameOf).join(', '))
})
for (const route of lists) {
  test(`${nameOf(route)} ends a page at its bytes and goes on with its cursor`, async () => {
    const token = tokenOf(route, vendor)
    const { limit } = (route.query as unknown as { properties: { limit: { maximum: number } } }).properties
    for (const asked of more[route.operation] ?? ['']) {
      const url = `${route.path.replace(':id', vendor.projectId)}?${asked}`
      const [whole = [], ...none] = await walk(url, token, limit.maximum)
      assert.equal(none.length, 0)
      assert.ok(whole.length >= 2, `${url} has ${whole.length} items`)
      // So little that each page has the one item that every page has.
      setBytesMax(1)
      const pages = await walk(url, token, limit.maximum)
      setBytesMax(bytesMax)
      assert.deepEqual(
        pages.map(({ length }) => length),
        whole.map(() => 1),
        url,
      )
      assert.deepEqual(pages.flat(), whole, url)
    }
  })
}

/** A workspace with so many tenants and keys, each with a `meta` of almost 64 KiB. */
async function makeLarge(count: number): Promise<Vendor> {
  const large = await makeVendor(harness)
  const meta = JSON.stringify({ text: 'é'.repeat(32_000) })
  const values = [large.workspaceId, meta, count]
  await query(
    `insert into tenants (workspace_id, id, external_id, name, meta, created_at, updated_at)
     select $1::uuid, gen_random_uuid(), 'large-' || n, 'large', $2::jsonb, now(), now() from generate_series(1, $3::int) n`,
    values,
  )
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, scopes, meta,
       revoked_at, created_at, updated_at)
     select $1::uuid, gen_random_uuid(), $4::uuid, $5::uuid, env, 'large', 'kr', sha256(convert_to(n || env || $1::uuid, 'UTF8')), '{}', $2::jsonb,
       case when n % 2 = 0 then now() end, now(), now()
     from generate_series(1, $3::int / 2) n, unnest(array['live', 'test']) env`,
    [...values, large.projectId, large.tenantId],
  )
  return large
}

test('a page of large rows ends at 4 MiB, and all pages together have each row once', async () => {
  const count = 150
  const large = await makeLarge(count)
  for (const url of [
    '/v1/tenants?',
    '/v1/tenants?q=large',
    '/v1/keys?include_revoked=true',
    '/v1/keys?q=large&include_revoked=true',
  ]) {
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask('GET', `${url}&limit=200${cursor}`, { token: large.live })
      assert.ok(Buffer.byteLength(JSON.stringify(body)) <= bytesMax, url)
      ids.push(...body.data.map(({ id }: { id: string }) => id))
      if (!body.has_more) break
      assert.ok(
        Buffer.byteLength(JSON.stringify(body)) > bytesMax / 8,
        `${url}: a page of ${body.data.length}`,
      )
      cursor = `&cursor=${body.next_cursor}`
    }
    const own = url === '/v1/tenants?' ? 1 : 0
    assert.deepEqual([ids.length, new Set(ids).size], [count + own, count + own], url)
  }
})

test('rows of a list are reserved as they are read, and without room the list is 503', async () => {
  const { largeBodies } = deps
  const large = await makeLarge(100)
  const { EventEmitter } = await import('node:events')
  const all = new EventEmitter() as never
  largeBodies.holdAnswer(all, largeBytesMax)
  after(() => (all as InstanceType<typeof EventEmitter>).emit('close'))
  const before = deps.pool.depth().total
  for (const url of ['/v1/tenants?limit=200', '/v1/keys?limit=200&status=active']) {
    const { status, headers } = await ask('GET', url, { token: large.live })
    assert.deepEqual([status, headers['retry-after']], [503, '1'], url)
  }
  assert.equal((await ask('GET', '/v1/tenants?limit=1', { token: vendor.live })).status, 200)
  assert.ok(deps.pool.depth().total >= before, 'the connections stay open')
  assert.equal(largeBodies.held(), largeBytesMax)
})
