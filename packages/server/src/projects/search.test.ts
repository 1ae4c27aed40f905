import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { makeSecretKey, makeVendor, uniqueSlug, type Vendor } from '../../test/vendor.ts'
import { prefixRange } from '../platform/paging/prefix.ts'
import { projectSearches } from './sql.ts'

const harness = await startHarness()
const { ask, query } = harness

const make = async (vendor: Vendor, name: string, slug = uniqueSlug()) => {
  const { status, body } = await ask('POST', '/v1/projects', { token: vendor.live, body: { name, slug } })
  assert.equal(status, 201)
  return body
}

/** The names of the projects on all pages of a list. */
async function found(token: string, filter: string, limit = 1): Promise<string[]> {
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const next = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await ask('GET', `/v1/projects?${filter}&limit=${limit}${next}`, { token })
    assert.equal(status, 200, JSON.stringify(body))
    names.push(...body.data.map((project: { name: string }) => project.name))
    if (!body.has_more) return names
    cursor = body.next_cursor
  }
}

test('a search finds a project once, by id or name, and only those that the credential sees', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const billing = await make(vendor, 'Billing', 'the-slug')
  const second = await make(vendor, 'billing beta')
  await make(vendor, billing.id)
  await make(other, 'Billing foreign')
  const { live } = vendor
  assert.deepEqual(await found(live, 'q=BILL'), ['Billing', 'billing beta'])
  assert.deepEqual(await found(live, `q=${billing.id}`), ['Billing', billing.id])
  assert.deepEqual(await found(live, 'q=illing'), [])
  assert.deepEqual(await found(live, 'q=beta'), ['billing beta'])
  assert.deepEqual(await found(live, 'q=bill&slug=the-slug'), ['Billing'])
  assert.deepEqual(await found(live, `q=${billing.id}&slug=the-slug`), ['Billing'])
  assert.deepEqual(await found(live, 'q=beta&slug=the-slug'), [])
  const bound = await makeSecretKey(harness, vendor, { project_ids: [second.id] })
  assert.deepEqual(await found(bound.key, 'q=bill'), ['billing beta'])
  assert.deepEqual(await found(bound.key, `q=${billing.id}`), [])
  assert.deepEqual(await found(bound.key, `q=${second.id}`), ['billing beta'])
  await ask('DELETE', `/v1/projects/${billing.id}`, { token: live })
  assert.deepEqual(await found(live, 'q=bill'), ['billing beta'])
  assert.deepEqual(await found(live, `q=${billing.id}`), [billing.id])
})

test('a list of ids has those that the credential sees, newest first', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const first = await make(vendor, 'First', 'first-of-ids')
  const second = await make(vendor, 'Second')
  const gone = await make(vendor, 'Gone')
  const foreign = await make(other, 'Foreign')
  await ask('DELETE', `/v1/projects/${gone.id}`, { token: vendor.live })
  const ids = [first.id, second.id.toUpperCase(), gone.id, foreign.id].join(',')
  for (const limit of [1, 2, 50])
    assert.deepEqual(await found(vendor.live, `ids=${ids}`, limit), ['Second', 'First'])
  assert.deepEqual(await found(vendor.live, `ids=${ids}&slug=first-of-ids`), ['First'])
  const bound = await makeSecretKey(harness, vendor, { project_ids: [second.id] })
  assert.deepEqual(await found(bound.key, `ids=${ids}`), ['Second'])
  assert.deepEqual(await found(bound.key, `ids=${first.id}`), [])
  const { status } = await ask('GET', `/v1/projects?ids=${ids}&q=first`, { token: vendor.live })
  assert.equal(status, 400)
})

test('a search refuses a whole credential, and does not repeat it', async () => {
  const vendor = await makeVendor(harness)
  for (const more of ['', '&slug=abc']) {
    const { status, body } = await ask('GET', `/v1/projects?q=${vendor.live}${more}`, { token: vendor.live })
    assert.deepEqual([status, body.errors[0].path], [400, 'q'])
    assert.ok(!JSON.stringify(body).includes(vendor.live.slice(-10)))
  }
})

test('the cursor of a search works only with the same text', async () => {
  const vendor = await makeVendor(harness)
  await make(vendor, 'a1')
  await make(vendor, 'a2')
  const { body } = await ask('GET', '/v1/projects?q=a&limit=1', { token: vendor.live })
  for (const filter of ['', 'q=ab&', 'slug=abc&']) {
    const url = `/v1/projects?${filter}cursor=${body.next_cursor}`
    assert.equal((await ask('GET', url, { token: vendor.live })).status, 400, filter)
  }
})

test('a search among 10,000 projects reads a page by index, whatever matches', async () => {
  const { workspaceId } = await makeVendor(harness)
  await query(
    `with made as (
       insert into projects (workspace_id, id, name, slug, created_at, updated_at)
       select $1, gen_random_uuid(), 'Project ' || n, 'project-' || n, now(), now() from generate_series(1, 10000) n
       returning workspace_id, id)
     insert into policy_heads (workspace_id, project_id) select workspace_id, id from made`,
    [workspaceId],
  )
  await query('analyze projects')
  await query('analyze policy_heads')
  const readRows = await openStatementWork(harness)
  for (const prefix of ['project', 'project 5000', 'nothing']) {
    const { first, last } = prefixRange(prefix)
    for (const mode of ['custom', 'generic'] as const) {
      const statement = projectSearches.name.first
      const values = [workspaceId, first, last, null, null, 51]
      const { rows, indexes, plan } = await readRows(workspaceId, mode, statement, values)
      // A row of each table.
      assert.ok(rows <= 2 * 51, `${prefix}: ${rows} rows\n${plan}`)
      assert.deepEqual(indexes.toSorted(), ['policy_heads_pkey', 'projects_by_name_folded'], plan)
    }
  }
})
