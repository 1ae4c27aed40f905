import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { makeVendor, type Vendor } from '../../test/vendor.ts'
import { prefixRange } from '../platform/paging/prefix.ts'
import { tenantSearches } from './sql.ts'

const harness = await startHarness()
const { ask, query } = harness

const make = async (vendor: Vendor, external_id: string, name?: string) => {
  const { status, body } = await ask('POST', '/v1/tenants', {
    token: vendor.live,
    body: { external_id, ...(name !== undefined && { name }) },
  })
  assert.equal(status, 201)
  return body
}

/** The external ids of the tenants on all pages of a list. */
async function found(vendor: Vendor, filter: string, limit = 2): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const next = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await ask('GET', `/v1/tenants?${filter}&limit=${limit}${next}`, {
      token: vendor.live,
    })
    assert.equal(status, 200, JSON.stringify(body))
    ids.push(...body.data.map((tenant: { external_id: string }) => tenant.external_id))
    if (!body.has_more) return ids
    cursor = body.next_cursor
  }
}

test('a search finds a tenant once, by id, name or external id, in this order', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  await make(vendor, 'org_9', 'Acme')
  await make(vendor, 'ACME-2')
  await make(vendor, 'acme-1', 'Zebra')
  const both = await make(vendor, 'acme-3', 'acme three')
  await make(vendor, both.id, 'copied')
  await make(other, 'acme-foreign', 'Acme')
  for (const limit of [1, 2, 50]) {
    assert.deepEqual(await found(vendor, 'q=aCmE', limit), ['org_9', 'acme-3', 'acme-1', 'ACME-2'])
    assert.deepEqual(await found(vendor, `q=${both.id.toUpperCase()}`, limit), ['acme-3', both.id])
  }
  assert.deepEqual(await found(vendor, 'q=acme%20'), ['acme-3'])
  assert.deepEqual(await found(vendor, 'q=%25'), [])
  assert.deepEqual(await found(vendor, 'q=acme&external_id=acme-1'), ['acme-1'])
  assert.deepEqual(await found(vendor, 'q=zebra&external_id=acme-1'), ['acme-1'])
  assert.deepEqual(await found(vendor, 'q=other&external_id=acme-1'), [])
  await ask('DELETE', `/v1/tenants/${both.id}`, { token: vendor.live })
  assert.deepEqual(await found(vendor, `q=${both.id}`), [both.id])
  assert.deepEqual(await found(vendor, 'q=acme'), ['org_9', 'acme-1', 'ACME-2'])
})

test('a list of ids has those of the workspace that are not deleted, newest first', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const first = await make(vendor, 'first')
  const second = await make(vendor, 'second')
  const gone = await make(vendor, 'gone')
  const foreign = await make(other, 'foreign')
  await make(vendor, 'not asked for')
  await ask('DELETE', `/v1/tenants/${gone.id}`, { token: vendor.live })
  const ids = [first.id, second.id.toUpperCase(), gone.id, foreign.id].join(',')
  for (const limit of [1, 2, 50])
    assert.deepEqual(await found(vendor, `ids=${ids}`, limit), ['second', 'first'])
  assert.deepEqual(await found(vendor, `ids=${first.id}&ids=${second.id}&external_id=second`), ['second'])
  assert.deepEqual(await found(vendor, `ids=${first.id}&external_id=second`), [])
  for (const filter of [`ids=${ids}&q=first`, 'ids=', 'ids=first', `ids=${Array(51).fill(first.id)}`]) {
    const { status } = await ask('GET', `/v1/tenants?${filter}`, { token: vendor.live })
    assert.equal(status, 400, filter)
  }
})

test('a search refuses a whole credential, and does not repeat it', async () => {
  const vendor = await makeVendor(harness)
  for (const more of ['', '&external_id=abc']) {
    const { status, body } = await ask('GET', `/v1/tenants?q=${vendor.live}${more}`, { token: vendor.live })
    assert.deepEqual([status, body.errors[0].path], [400, 'q'])
    assert.ok(!JSON.stringify(body).includes(vendor.live.slice(-10)))
  }
})

test('the cursor of a search works only with the same text', async () => {
  const vendor = await makeVendor(harness)
  await make(vendor, 'a1')
  await make(vendor, 'a2')
  const { body } = await ask('GET', '/v1/tenants?q=a&limit=1', { token: vendor.live })
  for (const filter of ['', 'q=ab&', 'q=a1&', 'external_id=a1&', 'q=a&external_id=a1&']) {
    const { status } = await ask('GET', `/v1/tenants?${filter}cursor=${body.next_cursor}`, {
      token: vendor.live,
    })
    assert.equal(status, 400, filter)
  }
})

test('a search among 10,000 tenants reads a page by index, whatever matches', async () => {
  const { workspaceId } = await makeVendor(harness)
  await query(
    `insert into tenants (workspace_id, id, external_id, name, created_at, updated_at)
     select $1, gen_random_uuid(), 'org_' || n, 'Customer ' || n, now(), now() from generate_series(1, 10000) n`,
    [workspaceId],
  )
  await query('analyze tenants')
  const [middle] = await query(
    `select id, name_folded, external_id_folded from tenants where workspace_id = $1 and external_id = 'org_5000'`,
    [workspaceId],
  )
  const readRows = await openStatementWork(harness)
  for (const [by, prefixes] of [
    ['name', ['customer', 'customer 5000', 'nothing']],
    ['external_id', ['org_', 'org_5000', 'nothing']],
  ] as const) {
    for (const prefix of prefixes) {
      const { first, last } = prefixRange(prefix)
      for (const mode of ['custom', 'generic'] as const) {
        const place = [middle[`${by}_folded`], middle.id]
        const values = [workspaceId, first, last, null, 51]
        for (const [statement, given] of [
          [tenantSearches[by].first, values],
          [tenantSearches[by].next, [...values, ...place]],
        ] as const) {
          const { rows, indexes, plan } = await readRows(workspaceId, mode, statement, given)
          assert.ok(rows <= 51, `${prefix}: ${rows} rows\n${plan}`)
          assert.deepEqual(indexes, [`tenants_by_${by}_folded`], plan)
        }
      }
    }
  }
})
