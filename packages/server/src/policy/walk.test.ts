import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { askFeed, changesOf, idsOf, walkSnapshot } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { writtenColumns } from '../../test/written-columns.ts'

const harness = await startHarness({ policyMaxWholeKeys: 12, policyMaxPageKeys: 5 })
const { ask } = harness
const get = askFeed(harness)

test('pages of any size join to the whole without gaps or duplicates', async () => {
  const vendor = await makeVendor(harness)
  const made = []
  for (let i = 0; i < 12; i++) made.push((await issueKey(harness, vendor)).id)
  const whole = (await get(vendor, 'snapshot')).body
  assert.deepEqual(idsOf(whole), made)
  for (const size of [1, 2, 3, 4, 5, 6, 12, 1_000_000]) {
    const pages = await walkSnapshot(harness, vendor, size)
    assert.deepEqual(pages.flatMap(idsOf), made)
    assert.equal(pages.length, Math.ceil(12 / Math.min(size, 5)))
    assert.ok(pages.every(page => page.version === whole.version))
  }
})

test('a page ends at its byte limit, and pages of keys of any size join to the whole', async () => {
  const large = await startHarness({ policyMaxWholeKeys: 10_000, policyMaxPageKeys: 5_000 })
  const vendor = await makeVendor(large)
  const model = await issueKey(large, vendor)
  const columns = await writtenColumns(large.query, 'api_keys')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 64 })), { minLength: 1, maxLength: 250 }),
      fc.constantFrom(7, 100, 5_000),
      async (sizes, maxKeys) => {
        await large.query('delete from api_keys where workspace_id = $1 and id <> $2', [
          vendor.workspaceId,
          model.id,
        ])
        // Copies of a key with other ids, hashes and scopes, of up to 50 KiB each.
        await large.query(
          `insert into api_keys (${columns}) select ${columns} from (
             select (jsonb_populate_record(k, jsonb_build_object(
               'id', gen_random_uuid(), 'lookup_hash', '\\x' || encode(sha256(('key ' || s.place)::bytea), 'hex'),
               'scopes', (select coalesce(jsonb_agg(repeat('\u{1f511}', 199) || chr(64 + n)), '[]') from generate_series(1, s.size) n)))).*
             from api_keys k, unnest($2::int[]) with ordinality s(size, place) where k.id = $1) copies`,
          [model.id, sizes],
        )
        // Pages are cached by version.
        await large.query('update policy_heads set version = version + 1')
        const pages = await walkSnapshot(large, vendor, maxKeys)
        const made = await large.query('select id from api_keys where workspace_id = $1 order by id', [
          vendor.workspaceId,
        ])
        assert.deepEqual(
          pages.flatMap(idsOf),
          made.map(({ id }) => id),
        )
        for (const page of pages) {
          const bytes = Buffer.byteLength(JSON.stringify(page))
          assert.ok(bytes < 4 * 1_048_576 + 1_024, `${bytes} bytes`)
          assert.ok(page.keys.length <= maxKeys)
        }
        const all = pages.reduce((sum, page) => sum + Buffer.byteLength(JSON.stringify(page)), 0)
        assert.ok(
          pages.length <= Math.ceil(made.length / maxKeys) + Math.ceil(all / (4 * 1_048_576 - 65_536)),
        )
      },
    ),
    { numRuns: 12 },
  )
})

test('a delta larger than a page is a snapshot, and a snapshot that is too large is paged', async () => {
  const large = await startHarness({ policyMaxWholeKeys: 100 })
  const vendor = await makeVendor(large)
  const scopes = Array.from({ length: 64 }, (_, i) => `${'\u{1f511}'.repeat(198)}${i}`)
  for (let i = 0; i < 90; i++) await issueKey(large, vendor, { scopes })
  const ask = askFeed(large)
  const delta = (await ask(vendor, 'delta', '&since=1&max_keys=5000')).body
  assert.deepEqual([delta.object, delta.next_cursor === null], ['policy_snapshot', false])
  assert.equal((await walkSnapshot(large, vendor, 5_000)).flatMap(idsOf).length, 90)
  const { status, body } = await ask(vendor, 'snapshot')
  assert.deepEqual([status, body.code], [413, 'snapshot_too_large'])
  assert.match(body.detail, /more than 100 keys, or more than 4 MiB of them/)
})

test('a snapshot that is too large is refused, never cut; paging or narrowing returns it', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 13; i++) await issueKey(harness, vendor)
  for (const request of [get(vendor, 'snapshot'), get(vendor, 'delta', '&since=0')]) {
    const { status, body } = await request
    assert.deepEqual([status, body.code], [413, 'snapshot_too_large'])
    assert.match(body.detail, /max_keys.*tenant_id/)
  }
  assert.equal((await walkSnapshot(harness, vendor, 5)).flatMap(idsOf).length, 13)
  assert.equal((await get(vendor, 'snapshot', `&tenant_id=${randomUUID()}`)).status, 200)
})

test('a project that shrank because keys expired is sent whole at the same version', async () => {
  const vendor = await makeVendor(harness)
  const expires_at = '2999-01-01T00:00:00Z'
  for (let i = 0; i < 13; i++) await issueKey(harness, vendor, i === 0 ? { expires_at } : {})
  assert.equal((await get(vendor, 'snapshot')).status, 413)
  await harness.setStoreTime(new Date(expires_at))
  const { status, body } = await get(vendor, 'snapshot')
  await harness.setStoreTime(null)
  assert.deepEqual([status, body.keys?.length], [200, 12])
})

test('a change during a walk is in the delta from the version at which the walk began', async () => {
  const vendor = await makeVendor(harness)
  const keys = []
  for (let i = 0; i < 6; i++) keys.push(await issueKey(harness, vendor))
  const first = (await get(vendor, 'snapshot', '&max_keys=2')).body
  await ask('POST', `/v1/keys/${keys[0]?.id}/revoke`, { token: vendor.live })
  await ask('POST', `/v1/keys/${keys[5]?.id}/revoke`, { token: vendor.live })
  const added = await issueKey(harness, vendor)
  const held = new Set(idsOf(first))
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const { body } = await get(vendor, 'snapshot', `&max_keys=2&cursor=${cursor}`)
    assert.equal(body.version, first.version)
    for (const id of idsOf(body)) held.add(id)
    cursor = body.next_cursor
  }
  const { body } = await get(vendor, 'delta', `&since=${first.version}`)
  for (const [change, id] of changesOf(body)) change === 'upsert' ? held.add(id ?? '') : held.delete(id ?? '')
  assert.deepEqual([...held].toSorted(), idsOf((await get(vendor, 'snapshot')).body).toSorted())
  assert.ok(held.has(added.id) && !held.has(keys[0]?.id))
})

test('a snapshot returned by the delta continues on the snapshot route with its cursor', async () => {
  const vendor = await makeVendor(harness)
  const made = []
  for (let i = 0; i < 7; i++) made.push((await issueKey(harness, vendor)).id)
  const { body } = await get(vendor, 'delta', '&since=0&max_keys=4')
  const rest = (await get(vendor, 'snapshot', `&max_keys=4&cursor=${body.next_cursor}`)).body
  assert.deepEqual([...idsOf(body), ...idsOf(rest)], made)
  assert.equal(rest.next_cursor, null)
})

test('a cursor is valid only unchanged and for its own scope', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 3; i++) await issueKey(harness, vendor)
  const second = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'n', slug: 'second' },
  })
  const cursor = (await get(vendor, 'snapshot', '&max_keys=1')).body.next_cursor
  const refused = async (url: string, token = vendor.live) => {
    const { status, body } = await ask('GET', url, { token })
    assert.deepEqual([status, body.errors?.[0]?.path], [400, 'cursor'], url)
  }
  const own = `/v1/policy/snapshot?project_id=${vendor.projectId}&max_keys=1`
  assert.equal((await ask('GET', `${own}&cursor=${cursor}`, { token: vendor.live })).status, 200)
  await refused(`/v1/policy/snapshot?project_id=${second.body.id}&max_keys=1&cursor=${cursor}`)
  await refused(`${own}&env=live&cursor=${cursor}`)
  await refused(`${own}&tenant_id=${vendor.tenantId}&cursor=${cursor}`)
  await refused(`${own}&cursor=${cursor}`, vendor.test)
  await refused(`${own}&cursor=${cursor}`, (await makeVendor(harness)).live)
  for (let at = 0; at < cursor.length; at += 1) {
    const other = cursor[at] === 'A' ? 'B' : 'A'
    await refused(`${own}&cursor=${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`)
  }
  for (const cut of [cursor.slice(1), cursor.slice(0, -1), `${cursor}A`])
    await refused(`${own}&cursor=${cut}`)
  const keys = (await ask('GET', '/v1/keys?limit=1', { token: vendor.live })).body.next_cursor
  await refused(`${own}&cursor=${keys}`)
})
