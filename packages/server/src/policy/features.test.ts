import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { writtenColumns } from '../../test/written-columns.ts'
import { hasNetworksSql, isOfSuspendedSql } from './cause.ts'

const harness = await startHarness({ policyMaxWholeKeys: 12, policyMaxPageKeys: 5 })
const { ask, query } = harness
const get = askFeed(harness)

const patch = (vendor: { live: string }, path: string, body: object) =>
  ask('PATCH', `/v1/${path}`, { token: vendor.live, body })
const versionOf = async (projectId: string): Promise<number> =>
  (await query('select version from policy_heads where project_id = $1', [projectId]))[0].version

test('without features the statement has no extra join, and no condition but those of features', () => {
  const { changes, snapshotPage } = harness.deps.policy.statements
  const facts = [isOfSuspendedSql, hasNetworksSql, 'k.imported_at is not null']
  const needed = facts.map(one => `and not coalesce(${one}, false)`)
  const more = /tenants t\b|tenant_id from policy_tenants|k\.name|k\.meta|and not (?!k\.is_revoked)/
  for (const { text } of [changes([]), snapshotPage([], false), snapshotPage([], true)]) {
    for (const one of needed) assert.ok(text.includes(one), one)
    const rest = needed.reduce((left, one) => left.replaceAll(one, ''), text)
    assert.doesNotMatch(rest, more)
  }
})

test('the feed has names and meta only for nodes that name these features', async () => {
  const vendor = await makeVendor(harness)
  const { tenantId } = vendor
  await patch(vendor, `tenants/${tenantId}`, { name: 'Globex "\\', meta: { plan: { seats: 3 } } })
  const { external_id } = (await ask('GET', `/v1/tenants/${tenantId}`, { token: vendor.live })).body
  const named = await issueKey(harness, vendor, { name: 'CI ü', meta: { z: 1, a: [null] } })
  const bare = await issueKey(harness, vendor)
  const fetched = async (more: string) => {
    const { body } = await get(vendor, 'snapshot', more)
    const delta = (await get(vendor, 'delta', `&since=1${more}`)).body
    const fields = body.keys.map((key: Record<string, unknown>) => ({
      ...('name' in key && { name: key.name }),
      ...('meta' in key && { meta: key.meta }),
    }))
    assert.deepEqual(
      delta.changes.map(({ change: _, ...key }: { change: string }) => key),
      body.keys,
    )
    assert.deepEqual([delta.features, delta.tenants], [body.features, body.tenants])
    return { features: body.features, tenants: body.tenants, fields }
  }
  const names = { tenant_id: tenantId, external_id, name: 'Globex "\\' }
  const meta = { plan: { seats: 3 } }
  assert.deepEqual(await fetched(''), { features: undefined, tenants: undefined, fields: [{}, {}] })
  assert.deepEqual(await fetched('&features=unheard_of'), {
    features: [],
    tenants: undefined,
    fields: [{}, {}],
  })
  assert.deepEqual(await fetched('&features=names'), {
    features: ['names'],
    tenants: [names],
    fields: [{ name: named.name }, { name: null }],
  })
  assert.deepEqual(await fetched('&features=meta'), {
    features: ['meta'],
    tenants: [{ tenant_id: tenantId, meta }],
    fields: [{ meta: named.meta }, { meta: {} }],
  })
  assert.deepEqual(await fetched('&features=names,later,meta&features=meta'), {
    features: ['meta', 'names'],
    tenants: [{ ...names, meta }],
    fields: [
      { name: named.name, meta: named.meta },
      { name: bare.name, meta: {} },
    ],
  })
})

test('names and the meta of tenants are for unlimited keys and those with policy:labels', async () => {
  const vendor = await makeVendor(harness)
  const { tenantId } = vendor
  await patch(vendor, `tenants/${tenantId}`, { name: 'Globex', meta: { plan: 'gold' } })
  const { external_id } = (await ask('GET', `/v1/tenants/${tenantId}`, { token: vendor.live })).body
  await issueKey(harness, vendor, { name: 'CI', meta: { a: 1 } })
  const keyOf = async (more: object) => (await makeSecretKey(harness, vendor, { ...more })).key as string
  const node = await keyOf({ preset: 'node' })
  const labelled = await keyOf({ permissions: ['policy:read', 'policy:labels'] })
  const fetched = async (token: string, features: string) => {
    const more = `&features=${features}`
    const { body } = await get(vendor, 'snapshot', more, {}, token)
    const delta = (await get(vendor, 'delta', `&since=1${more}`, {}, token)).body
    assert.deepEqual([delta.features, delta.tenants], [body.features, body.tenants])
    assert.deepEqual(body.keys?.length, 1, JSON.stringify(body))
    const [{ name, meta }] = body.keys
    const { tenant_id: _, ...tenant } = body.tenants?.[0] ?? {}
    return { features: body.features, key: { name, meta }, tenant }
  }
  const own = { key: { name: undefined, meta: { a: 1 } }, tenant: { external_id } }
  const all = {
    key: { name: 'CI', meta: { a: 1 } },
    tenant: { external_id, name: 'Globex', meta: { plan: 'gold' } },
  }
  const [asked, old] = ['external_id,key_meta,labels', 'names,meta']
  for (const features of [asked, old, `${asked},${old}`]) {
    assert.deepEqual(await fetched(node, features), { features: ['external_id', 'key_meta'], ...own })
    const known = features.split(',').toSorted()
    for (const token of [labelled, vendor.live])
      assert.deepEqual(await fetched(token, features), { features: known, ...all })
  }
  assert.deepEqual(await fetched(node, 'labels'), {
    features: [],
    key: { name: undefined, meta: undefined },
    tenant: {},
  })
})

test('meta over 2 KiB is null, for a key and a tenant separately', async () => {
  const vendor = await makeVendor(harness)
  const fits = { a: 'x'.repeat(2_048 - '{"a":""}'.length) }
  const large = { a: `${fits.a}x` }
  await patch(vendor, `tenants/${vendor.tenantId}`, { meta: large })
  await issueKey(harness, vendor, { meta: fits })
  await issueKey(harness, vendor, { meta: large })
  const fetched = async () => {
    const { body } = await get(vendor, 'snapshot', '&features=meta')
    return [...body.keys, ...body.tenants].map(({ meta }) => meta)
  }
  assert.deepEqual(await fetched(), [fits, null, null])
  await patch(vendor, `tenants/${vendor.tenantId}`, { meta: fits })
  assert.deepEqual(await fetched(), [fits, null, fits])
})

test('a request names at most 32 features of at most 32 characters', async () => {
  const vendor = await makeVendor(harness)
  const many = (n: number) => Array.from({ length: n }, (_, i) => `f${i}`).join()
  for (const good of ['a', `a${'9_'.repeat(15)}z`, many(32), 'constructor', 'names,names']) {
    assert.equal((await get(vendor, 'snapshot', `&features=${good}`)).status, 200, good)
    assert.equal((await get(vendor, 'delta', `&since=1&features=${good}`)).status, 200, good)
  }
  for (const bad of ['', 'a,', 'A', '_a', '1a', 'a-b', 'names%20', `a${'b'.repeat(32)}`, many(33)]) {
    for (const path of ['snapshot', 'delta'] as const) {
      const { status, body } = await get(vendor, path, `&since=1&features=${bad}`)
      assert.deepEqual([status, body.code], [400, 'validation_failed'], bad)
      assert.match(body.errors[0].path, /^features/)
    }
  }
})

test('a tenant change writes one row and one version per project, whatever its keys', async () => {
  const vendor = await makeVendor(harness)
  const { live, tenantId } = vendor
  const second = (await ask('POST', '/v1/projects', { token: live, body: { name: 'n', slug: 'second-one' } }))
    .body
  const third = (await ask('POST', '/v1/projects', { token: live, body: { name: 'n', slug: 'third-one' } }))
    .body
  for (let i = 0; i < 8; i++) await issueKey(harness, vendor)
  await issueKey(harness, vendor, { project_id: second.id, env: 'test' })
  const gone = await issueKey(harness, vendor, { project_id: third.id })
  await ask('POST', `/v1/keys/${gone.id}/revoke`, { token: live })
  const projects = [vendor.projectId, second.id, third.id]
  const versions = () => Promise.all(projects.map(versionOf))
  const [first = 0, other = 0, last = 0] = await versions()
  await patch(vendor, `tenants/${tenantId}`, { name: 'Initech' })
  assert.deepEqual(await versions(), [first + 1, other + 1, last])
  await patch(vendor, `tenants/${tenantId}`, { meta: { a: 1 } })
  await patch(vendor, `tenants/${tenantId}`, { name: 'Initech', meta: { a: 1 } })
  await ask('POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`, { token: live })
  assert.deepEqual(await versions(), [first + 2, other + 2, last])
  const noted = await query(
    'select project_id, version from policy_tenants where tenant_id = $1 order by version',
    [tenantId],
  )
  assert.equal(noted.length, 2)

  const { body } = await get(vendor, 'delta', `&since=${first}&features=names,meta`)
  assert.deepEqual([body.version, body.changes], [first + 2, []])
  assert.deepEqual(
    body.tenants.map(({ name, meta }: Record<string, unknown>) => [name, meta]),
    [['Initech', { a: 1 }]],
  )
  const plain = (await get(vendor, 'delta', `&since=${first}`)).body
  assert.deepEqual([plain.version, plain.changes, 'tenants' in plain], [first + 2, [], false])
})

test('a delta has only those changed tenants that have a key in the scope', async () => {
  const vendor = await makeVendor(harness)
  const make = async (external_id: string, env: string) => {
    const { id } = (await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id } })).body
    await issueKey(harness, vendor, { tenant_id: id, env })
    return id
  }
  const [live, trial] = [await make('a', 'live'), await make('b', 'test')]
  const version = await versionOf(vendor.projectId)
  for (const id of [live, trial]) await patch(vendor, `tenants/${id}`, { name: 'renamed' })
  const fetched = async (more: string, token?: string) => {
    const { body } = await get(vendor, 'delta', `&since=${version}&features=names${more}`, {}, token)
    return body.tenants.map((tenant: { tenant_id: string }) => tenant.tenant_id)
  }
  assert.deepEqual(await fetched(''), [live, trial])
  assert.deepEqual(await fetched('&env=live'), [live])
  assert.deepEqual(await fetched('', vendor.test), [trial])
  assert.deepEqual(await fetched(`&tenant_id=${live}`), [live])
  assert.deepEqual(await fetched(`&tenant_id=${randomUUID()}`), [])
})

test('more changes of keys and tenants than fit a page give a snapshot', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 4; i++) {
    const { id } = (await ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: `t${i}` } }))
      .body
    await issueKey(harness, vendor, { tenant_id: id })
  }
  const version = await versionOf(vendor.projectId)
  const { data } = (await ask('GET', '/v1/tenants', { token: vendor.live })).body
  for (const { id } of data) await patch(vendor, `tenants/${id}`, { name: 'n' })
  await issueKey(harness, vendor)
  const outcome = async (more: string) => (await get(vendor, 'delta', `&since=${version}${more}`)).body.object
  assert.equal(await outcome('&features=names'), 'policy_delta')
  await issueKey(harness, vendor)
  assert.equal(await outcome('&features=names'), 'policy_snapshot')
  assert.equal(await outcome(''), 'policy_delta')
})

test('ETags, cursors and cached pages of one set of features do not serve another', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 3; i++) await issueKey(harness, vendor)
  const version = await versionOf(vendor.projectId)
  const sets = ['', '&features=names', '&features=meta', '&features=meta,names', '&features=other']
  for (const path of ['snapshot', 'delta'] as const) {
    const etags = []
    for (const set of sets)
      etags.push((await get(vendor, path, `&since=${version}${set}`)).headers.etag ?? '')
    assert.equal(new Set(etags).size, sets.length, String(etags))
    for (const set of sets) {
      for (const [i, etag] of etags.entries()) {
        const { status } = await get(vendor, path, `&since=${version}${set}`, { 'if-none-match': etag })
        assert.equal(status, sets[i] === set ? 304 : 200)
      }
    }
  }
  const { next_cursor } = (await get(vendor, 'snapshot', '&max_keys=1&features=names')).body
  const next = (set: string) => get(vendor, 'snapshot', `&max_keys=1&cursor=${next_cursor}${set}`)
  assert.equal((await next('&features=names,later')).status, 200, 'an unknown feature changes nothing')
  assert.deepEqual((await next('')).body.errors?.[0]?.path, 'cursor')
  assert.deepEqual((await next('&features=meta')).body.errors?.[0]?.path, 'cursor')
})

test('each page contains the tenants of its keys and counts their bytes', async () => {
  const large = await startHarness({ policyMaxPageKeys: 5_000 })
  const vendor = await makeVendor(large)
  const key = await issueKey(large, vendor)
  // 2,500 tenants of 2 KiB with one key each: 5 MiB of tenants.
  await large.query(
    `insert into tenants (workspace_id, id, external_id, meta, created_at, updated_at)
     select $1, gen_random_uuid(), 'org ' || n, json_build_object('a', repeat('x', 2000)), now(), now()
     from generate_series(1, 2500) n`,
    [vendor.workspaceId],
  )
  const columns = await writtenColumns(large.query, 'api_keys')
  await large.query(
    `insert into api_keys (${columns}) select ${columns} from (
       select (jsonb_populate_record(k, jsonb_build_object('id', gen_random_uuid(),
         'tenant_id', t.id, 'lookup_hash', '\\x' || encode(sha256(t.id::text::bytea), 'hex')))).*
       from api_keys k, tenants t where k.id = $1 and t.external_id like 'org %') copies`,
    [key.id],
  )
  const seen: string[] = []
  let pages = 0
  for (let cursor = ''; ; pages += 1) {
    const { body } = await askFeed(large)(vendor, 'snapshot', `&max_keys=5000&features=meta${cursor}`)
    assert.ok(Buffer.byteLength(JSON.stringify(body)) < 4 * 1_048_576 + 1_024)
    const own = body.keys.map(({ tenant_id }: { tenant_id: string }) => tenant_id).toSorted()
    assert.deepEqual(body.tenants.map(({ tenant_id }: { tenant_id: string }) => tenant_id).toSorted(), own)
    seen.push(...idsOf(body))
    if (body.next_cursor === null) break
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual([seen.length, new Set(seen).size, pages], [2_501, 2_501, 1])
})

test('a held poll is answered when a tenant changes, with and without features', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const version = await versionOf(vendor.projectId)
  for (const set of ['', '&features=names']) {
    const since = await versionOf(vendor.projectId)
    const held = get(vendor, 'delta', `&since=${since}${set}`, { prefer: 'wait=30' })
    await until(() => harness.deps.policy.watch.held().all > 0, 'the poll is held')
    await patch(vendor, `tenants/${vendor.tenantId}`, { name: `for ${set}.` })
    const { body } = await held
    assert.deepEqual([body.version, changesOf(body)], [since + 1, []])
    assert.deepEqual(
      body.tenants?.map(({ name }: { name: string }) => name),
      set === '' ? undefined : [`for ${set}.`],
    )
  }
  assert.equal(await versionOf(vendor.projectId), version + 2)
})
