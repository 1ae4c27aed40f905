import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { issueKey, makeProject, makeVendor, uniqueSlug, type Vendor } from '../../test/vendor.ts'
import { laterWords, prefixRange } from '../platform/paging/prefix.ts'
import { projectSearches } from '../projects/sql.ts'
import { tenantSearches } from '../tenants/sql.ts'
import { type KeyWalk, keyWalkStatement } from './search-sql.ts'

const harness = await startHarness()
const { ask, query } = harness

/** The names on all pages of a list, two rows each. */
async function namesOf({ live }: Vendor, list: string, q: string, more = ''): Promise<(string | null)[]> {
  const names: (string | null)[] = []
  for (let cursor = ''; ; ) {
    const next = cursor === '' ? '' : `&cursor=${cursor}`
    const url = `/v1/${list}?q=${encodeURIComponent(q)}${more}&limit=2${next}`
    const { status, body } = await ask('GET', url, { token: live })
    assert.equal(status, 200, JSON.stringify(body))
    names.push(...body.data.map((row: { name: string | null }) => row.name))
    if (!body.has_more) return names
    cursor = body.next_cursor
  }
}

const wordsOf = async ({ workspaceId }: Vendor) => {
  const rows = await query(
    'select list, word from name_words where workspace_id = $1 order by list, word collate "C"',
    [workspaceId],
  )
  return rows.map(({ list, word }) => `${list}: ${word}`)
}

test('a search finds a key by the beginning of every word of its name, once', async () => {
  const vendor = await makeVendor(harness)
  for (const name of ['server one', 'Billing-Server', 'the server_server', 'Server', 'observer'])
    await issueKey(harness, vendor, { name })
  await issueKey(harness, vendor)
  assert.deepEqual(await namesOf(vendor, 'keys', 'SERV'), [
    'Server',
    'server one',
    'Billing-Server',
    'the server_server',
  ])
  assert.deepEqual(await namesOf(vendor, 'keys', 'erver'), [])
  assert.deepEqual(await namesOf(vendor, 'keys', 'server', '&status=revoked'), [])
})

test('a changed, revoked or deleted row keeps no word that finds it', async () => {
  const vendor = await makeVendor(harness)
  const { live } = vendor
  const key = await issueKey(harness, vendor, { name: 'eu west' })
  await ask('PATCH', `/v1/keys/${key.id}`, { token: live, body: { name: 'eu south east' } })
  assert.deepEqual(await wordsOf(vendor), ['api_key live: east', 'api_key live: south'])
  await ask('POST', `/v1/keys/${key.id}/revoke`, { token: live })
  assert.deepEqual(await namesOf(vendor, 'keys', 'south'), [])
  assert.deepEqual(await namesOf(vendor, 'keys', 'south', '&include_revoked=true'), ['eu south east'])
  assert.deepEqual(await wordsOf(vendor), ['api_key live revoked: east', 'api_key live revoked: south'])
  await query('delete from policy_changes where key_id = $1', [key.id])
  await query('delete from api_keys where id = $1', [key.id])

  const { body: tenant } = await ask('POST', '/v1/tenants', {
    token: live,
    body: { external_id: 'acme', name: 'Acme GmbH' },
  })
  const project = await makeProject(harness, vendor)
  await ask('PATCH', `/v1/projects/${project.id}`, { token: live, body: { name: 'Maps API' } })
  assert.deepEqual(await wordsOf(vendor), ['project: api', 'tenant: gmbh'])
  await ask('PATCH', `/v1/tenants/${tenant.id}`, { token: live, body: { name: 'Acme SE' } })
  assert.deepEqual(await namesOf(vendor, 'tenants', 'gmbh'), [])
  assert.deepEqual(await namesOf(vendor, 'tenants', 'se'), ['Acme SE'])
  assert.deepEqual(await namesOf(vendor, 'projects', 'api'), ['Maps API'])
  await ask('DELETE', `/v1/tenants/${tenant.id}`, { token: live })
  await ask('DELETE', `/v1/projects/${project.id}`, { token: live })
  assert.deepEqual(await wordsOf(vendor), [])
})

test('a tenant is found once, by its name, its external id or a further word', async () => {
  const vendor = await makeVendor(harness)
  const make = (external_id: string, name: string) =>
    ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id, name } })
  await make('gmbh-1', 'Alpha GmbH')
  await make('org-2', 'Beta GmbH')
  await make('org-3', 'GmbH Gmbh')
  assert.deepEqual(await namesOf(vendor, 'tenants', 'gmbh'), ['GmbH Gmbh', 'Alpha GmbH', 'Beta GmbH'])
  assert.deepEqual(await namesOf(vendor, 'tenants', 'gmbh', '&external_id=org-2'), ['Beta GmbH'])
})

test('a name beyond nine words is found by the first nine', async () => {
  const vendor = await makeVendor(harness)
  const name = 'a1 b2 c3 d4 e5 f6 g7 h8 i9 j10'
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body: { name } })
  assert.deepEqual(await namesOf(vendor, 'projects', 'i9'), [name])
  assert.deepEqual(await namesOf(vendor, 'projects', 'j10'), [])
  assert.equal((await wordsOf(vendor)).length, 8)
})

test('the store and the service part a name into the same words', async () => {
  const ascii = String.fromCodePoint(...Array.from({ length: 95 }, (_, n) => n + 32))
  const sign = fc.oneof(fc.constantFrom(...' -_.·–—\u00a0\tÄé', ...ascii), fc.string({ unit: 'grapheme' }))
  const names = fc.sample(fc.array(sign, { maxLength: 80 }), { numRuns: 500, seed: 7 })
  const texts = [`x${[...ascii].join('x')}x`, ...names.map(signs => signs.join('').replaceAll('\0', ''))]
  const rows = await query(
    `select array(select w from later_words(name) w order by w collate "C") as words
     from unnest($1::text[]) with ordinality as n (name, place) order by place`,
    [texts],
  )
  for (const [n, text] of texts.entries()) {
    const cut = laterWords(text).map(word => [...word].slice(0, 64).join(''))
    const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    assert.deepEqual(rows[n].words, [...new Set(cut)].toSorted(bytes), JSON.stringify(text))
  }
})

test('a word among 10,000 keys, tenants and projects is found by index, a page at a time', async () => {
  const vendor = await makeVendor(harness)
  const { workspaceId, projectId, tenantId } = vendor
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at,
       updated_at)
     select $1, gen_random_uuid(), $2, $3, 'live', n || ' billing server', 'kr_live_' || substr(md5(n::text), 1, 4),
       sha256(('word' || n)::bytea), now(), now() from generate_series(1, 10000) n`,
    [workspaceId, projectId, tenantId],
  )
  await query(
    `insert into tenants (workspace_id, id, external_id, name, created_at, updated_at)
     select $1, gen_random_uuid(), 'org_' || n, n || ' server', now(), now() from generate_series(1, 10000) n`,
    [workspaceId],
  )
  await query(
    `with made as (
       insert into projects (workspace_id, id, name, slug, created_at, updated_at)
       select $1, gen_random_uuid(), n || ' server', $2 || n, now(), now() from generate_series(1, 10000) n
       returning workspace_id, id)
     insert into policy_heads (workspace_id, project_id) select workspace_id, id from made`,
    [workspaceId, uniqueSlug()],
  )
  await query('analyze')
  const readRows = await openStatementWork(harness)
  const { first, last } = prefixRange('ser')
  const all: KeyWalk = {
    order: 'word',
    env: 'live',
    isRevoked: false,
    status: null,
    hygiene: null,
    range: { first, last },
    id: null,
    projectIds: null,
    projectId: null,
    tenantId: null,
    name: null,
  }
  const [{ id }] = await query(
    `select id from name_words where workspace_id = $1 and list = 'api_key live' and word = 'server' offset 5000 limit 1`,
    [workspaceId],
  )
  const place = { value: 'server', id }
  const key = keyWalkStatement(workspaceId, all, null, 51)
  const nextKey = keyWalkStatement(workspaceId, all, place, 51)
  const values = [workspaceId, first, last, null]
  const cases = {
    keys: { ...key, modes: ['custom'], tables: 2 },
    'later keys': { ...nextKey, modes: ['custom'], tables: 2 },
    tenants: {
      statement: tenantSearches.word.first,
      values: [...values, 51],
      modes: ['custom', 'generic'],
      tables: 2,
    },
    'later tenants': {
      statement: tenantSearches.word.next,
      values: [...values, 51, 'server', id],
      modes: ['custom', 'generic'],
      tables: 2,
    },
    projects: {
      statement: projectSearches.word.first,
      values: [...values, null, 51],
      modes: ['custom', 'generic'],
      tables: 3,
    },
  } as const
  for (const [what, { statement, values, modes, tables }] of Object.entries(cases)) {
    for (const mode of modes) {
      const { rows, indexes, plan } = await readRows(workspaceId, mode, statement, values)
      assert.ok(rows <= tables * 51, `${what}: ${rows} rows\n${plan}`)
      assert.ok(indexes.includes('name_words_pkey'), plan)
    }
  }
})
