import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

const get = (path: string, token = vendor.live) => ask('GET', `/v1/${path}`, { token })
const post = (path: string, body: object, token = vendor.live) => ask('POST', `/v1/${path}`, { token, body })
const idsOf = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id)
const makeTenant = async (external_id: string, token = vendor.live): Promise<string> =>
  (await post('tenants', { external_id }, token)).body.id

test('filtering a list by slug or external_id returns that one row or an empty page', async () => {
  const odd = `a b&c=d/é ${uniqueSlug()}`
  const tenant = await makeTenant(odd)
  await makeTenant(odd, other.live)
  const found = await get(`tenants?external_id=${encodeURIComponent(odd)}`)
  assert.deepEqual([idsOf(found), found.body.has_more, found.body.next_cursor], [[tenant], false, null])
  assert.deepEqual(idsOf(await get('tenants?external_id=nobody')), [])
  await ask('DELETE', `/v1/tenants/${tenant}`, { token: vendor.live })
  assert.deepEqual(idsOf(await get(`tenants?external_id=${encodeURIComponent(odd)}`)), [])
  const next = await makeTenant(odd)
  assert.deepEqual(idsOf(await get(`tenants?external_id=${encodeURIComponent(odd)}`)), [next])

  const slug = uniqueSlug('shop')
  const project = (await post('projects', { name: 'n', slug })).body.id
  assert.deepEqual(idsOf(await get(`projects?slug=${slug}`)), [project])
  assert.deepEqual(idsOf(await get(`projects?slug=${slug}`, other.live)), [])
  assert.deepEqual(idsOf(await get('projects?slug=nobody')), [])

  const named = [
    await issueKey(harness, vendor, { name: 'CI' }),
    await issueKey(harness, vendor, { name: 'CI' }),
  ]
  await issueKey(harness, vendor, { name: 'ci' })
  await issueKey(harness, other, { name: 'CI' })
  const newest = named.map(({ id }) => id).toReversed()
  assert.deepEqual(idsOf(await get('keys?name=CI')), newest)
  const first = await get('keys?name=CI&limit=1')
  assert.deepEqual(idsOf(first), newest.slice(0, 1))
  assert.deepEqual(idsOf(await get(`keys?name=CI&limit=1&cursor=${first.body.next_cursor}`)), newest.slice(1))
  assert.deepEqual(idsOf(await get(`keys?name=CI&project_id=${project}`)), [])

  for (const path of ['tenants?external_id=', 'projects?slug=', 'keys?name=', 'keys?external_id=']) {
    const name = /\?(\w+)/.exec(path)?.[1]
    for (const value of ['', 'x'.repeat(201)]) {
      const { status, body } = await get(path + value)
      assert.deepEqual([status, body.errors?.[0]?.path], [400, name], path)
    }
  }
})

test('a key bound to projects cannot find other projects by slug', async () => {
  const slug = uniqueSlug('hidden')
  await post('projects', { name: 'n', slug })
  const limits = { env: 'live', permissions: ['projects:read'], project_ids: [vendor.projectId] }
  const { key } = (await post('secret_keys', limits)).body
  assert.deepEqual(idsOf(await get(`projects?slug=${slug}`, key)), [])
})

test('a key names its tenant by id or by external_id, not by both or neither', async () => {
  const external_id = uniqueSlug('org')
  const tenant = await makeTenant(external_id)
  const place = { project_id: vendor.projectId, env: 'live' }
  const key = await post('keys', { ...place, external_id })
  assert.deepEqual([key.status, key.body.tenant_id], [201, tenant])
  const token = await post('embed_tokens', { ...place, external_id })
  assert.deepEqual([token.status, token.body.tenant_id], [201, tenant])
  const session = await get('embed/session', token.body.token)
  assert.equal(session.body.tenant?.external_id, external_id)
  assert.deepEqual(idsOf(await get(`keys?external_id=${external_id}`)), [key.body.id])

  for (const path of ['keys', 'embed_tokens']) {
    for (const [body, at] of [
      [{ ...place }, 'tenant_id'],
      [{ ...place, tenant_id: tenant, external_id }, 'external_id'],
      [{ ...place, external_id: '' }, 'external_id'],
      [{ ...place, external_id: null }, 'external_id'],
    ] as const) {
      const refused = await post(path, body)
      assert.deepEqual([refused.status, refused.body.errors?.[0]?.path], [400, at], JSON.stringify(body))
    }
  }
  const both = await get(`keys?tenant_id=${tenant}&external_id=${external_id}`)
  assert.deepEqual([both.status, both.body.errors?.[0]?.path], [400, 'external_id'])
})

test('foreign, deleted and unknown external_ids all get the same response', async () => {
  const theirs = uniqueSlug('theirs')
  await makeTenant(theirs, other.live)
  const gone = uniqueSlug('gone')
  await ask('DELETE', `/v1/tenants/${await makeTenant(gone)}`, { token: vendor.live })
  const place = { project_id: vendor.projectId, env: 'live' }
  for (const external_id of [theirs, gone, uniqueSlug('nobody')]) {
    for (const path of ['keys', 'embed_tokens']) {
      const { status, body } = await post(path, { ...place, external_id })
      assert.deepEqual([status, body.code], [404, 'not_found'], `${path} ${external_id}`)
    }
    assert.deepEqual(idsOf(await get(`keys?external_id=${external_id}`)), [])
  }
})

test('a key bound to projects creates no key elsewhere, by tenant_id or by external_id', async () => {
  const external_id = uniqueSlug('org')
  await makeTenant(external_id)
  const second = (await post('projects', { name: 'n', slug: uniqueSlug('second') })).body.id
  const limits = { env: 'live', permissions: ['keys:write'], project_ids: [vendor.projectId] }
  const { key } = (await post('secret_keys', limits)).body
  const made = (project_id: string) => post('keys', { project_id, env: 'live', external_id }, key)
  assert.deepEqual([(await made(second)).status, (await made(vendor.projectId)).status], [404, 201])
})
