import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import {
  issueKey,
  makeProject,
  makeSecretKey,
  makeTenant,
  makeVendor,
  type Vendor,
} from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query, setStoreTime } = harness

/** The names of the keys on all pages of a list. */
async function namesOf(vendor: Vendor, filter: string, token = vendor.live, limit = 2): Promise<string[]> {
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const next = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body } = await ask('GET', `/v1/keys?${filter}&limit=${limit}${next}`, { token })
    assert.equal(status, 200, JSON.stringify(body))
    names.push(...body.data.map((key: { name: string | null }) => key.name))
    assert.equal(body.has_more, body.next_cursor !== null)
    if (!body.has_more) return names
    assert.equal(body.data.length, limit)
    cursor = body.next_cursor
  }
}

const issueNamed = async (vendor: Vendor, names: readonly string[], more: Record<string, unknown> = {}) => {
  const made = []
  for (const name of names) made.push(await issueKey(harness, vendor, { name, ...more }))
  return made
}

test('a search finds words that begin with the text, A to Z in any case, sorted', async () => {
  const vendor = await makeVendor(harness)
  await issueNamed(vendor, ['ci zebra', 'CI Alpha', 'build ci', 'Ci', 'cI beta', 'cj', 'ch~'])
  const found = ['Ci', 'CI Alpha', 'cI beta', 'ci zebra', 'build ci']
  for (const q of ['ci', 'CI']) assert.deepEqual(await namesOf(vendor, `q=${q}`), found)
  assert.deepEqual(await namesOf(vendor, 'q=ci%20a'), ['CI Alpha'])
  assert.deepEqual(await namesOf(vendor, 'q=nothing'), [])
})

test('a search takes every character as it is', async () => {
  const vendor = await makeVendor(harness)
  const names = [
    '100%',
    '100_',
    '1000',
    'a\\b',
    'é',
    '\u{1F600}\u{1F601}',
    '\u{10FFFD}x',
    "o'x",
    'z'.repeat(64),
  ]
  await issueNamed(vendor, [...names, `${'z'.repeat(64)}tail`])
  for (const name of names.slice(0, -1)) {
    assert.deepEqual(await namesOf(vendor, `q=${encodeURIComponent(name)}`), [name])
  }
  assert.deepEqual(await namesOf(vendor, 'q=100'), ['100%', '1000', '100_'])
  assert.deepEqual((await namesOf(vendor, `q=${'Z'.repeat(64)}`)).length, 2)
  assert.deepEqual(await namesOf(vendor, `q=${encodeURIComponent('\u{1F600}')}`), ['\u{1F600}\u{1F601}'])
})

test('a search finds a key once, by id, name or display prefix, in this order', async () => {
  const vendor = await makeVendor(harness)
  const [first, second] = await issueNamed(vendor, ['kr_live_ is a name', 'another'])
  assert.deepEqual(await namesOf(vendor, 'q=KR_LIVE_'), ['kr_live_ is a name', 'another'])
  assert.deepEqual(await namesOf(vendor, `q=${second.display_prefix.toLowerCase()}`), ['another'])
  for (const id of [first.id, first.id.toUpperCase()]) {
    await issueNamed(vendor, [`${first.id} copied`])
    const found = await namesOf(vendor, `q=${id}`, vendor.live, 1)
    assert.equal(found[0], 'kr_live_ is a name')
    assert.ok(found.slice(1).every(name => name === `${first.id} copied`))
    assert.ok(found.length > 1)
  }
})

test('a search refuses a whole key, and does not repeat it', async () => {
  const vendor = await makeVendor(harness)
  const { key } = await issueKey(harness, vendor)
  const { status, body } = await ask('GET', `/v1/keys?q=${key}`, { token: vendor.live })
  assert.deepEqual([status, body.errors[0].path], [400, 'q'])
  assert.ok(!JSON.stringify(body).includes(key.slice(-10)))
})

test('every status lists the keys that have it, by the clock of the database', async () => {
  const vendor = await makeVendor(harness)
  const now = new Date()
  now.setUTCMilliseconds(0)
  const in14Days = now.getTime() + 14 * 86_400_000
  const at = (ms: number) => ({ expires_at: new Date(ms).toISOString() })
  await issueNamed(vendor, ['for ever'])
  await issueNamed(vendor, ['just too late'], at(in14Days + 1))
  await issueNamed(vendor, ['in 14 days'], at(in14Days))
  await issueNamed(vendor, ['in a moment'], at(now.getTime() + 1))
  await issueNamed(vendor, ['now'], at(now.getTime()))
  await issueNamed(vendor, ['long ago'], at(now.getTime() - 86_400_000))
  const [gone, both] = [
    ...(await issueNamed(vendor, ['gone'])),
    ...(await issueNamed(vendor, ['gone and expired'], at(now.getTime() - 1))),
  ]
  for (const { id } of [gone, both]) await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })

  await setStoreTime(now)
  const active = ['in a moment', 'in 14 days', 'just too late', 'for ever']
  const expected = {
    active,
    expiring: ['in a moment', 'in 14 days'],
    expired: ['now', 'long ago'],
    revoked: ['gone and expired', 'gone'],
  }
  for (const [status, names] of Object.entries(expected)) {
    for (const limit of [1, 2, 50]) {
      assert.deepEqual(await namesOf(vendor, `status=${status}`, vendor.live, limit), names, status)
      const ignored = `status=${status}&include_revoked=true`
      assert.deepEqual(await namesOf(vendor, ignored, vendor.live, limit), names, ignored)
    }
    for (const name of [...active, ...expected.expired, ...expected.revoked]) {
      const found = await namesOf(vendor, `status=${status}&q=${encodeURIComponent(name)}`)
      assert.deepEqual(found.includes(name), names.includes(name), `${status} ${name}`)
    }
  }
  assert.deepEqual(await namesOf(vendor, 'q=gone'), [])
  assert.deepEqual(await namesOf(vendor, 'q=gone&include_revoked=true'), ['gone', 'gone and expired'])
  await setStoreTime(null)
})

test('search and status apply together with every other filter and with both environments', async () => {
  const vendor = await makeVendor(harness)
  const [project, tenant] = [await makeProject(harness, vendor), await makeTenant(harness, vendor)]
  await issueNamed(vendor, ['a1', 'a3'])
  await issueNamed(vendor, ['a2'], { env: 'test' })
  await issueNamed(vendor, ['a4'], { project_id: project.id })
  await issueNamed(vendor, ['a5'], { tenant_id: tenant.id, env: 'test' })
  const cases = {
    '': ['a1', 'a2', 'a3', 'a4', 'a5'],
    '&env=test': ['a2', 'a5'],
    [`&project_id=${project.id}`]: ['a4'],
    [`&tenant_id=${tenant.id}`]: ['a5'],
    [`&external_id=${tenant.external_id}`]: ['a5'],
    '&external_id=nobody': [],
    '&name=a3': ['a3'],
    [`&project_id=${vendor.projectId}&env=live`]: ['a1', 'a3'],
  }
  for (const [filter, names] of Object.entries(cases)) {
    assert.deepEqual(await namesOf(vendor, `q=a${filter}`), names, filter)
    assert.deepEqual(await namesOf(vendor, `q=a&status=active${filter}`), names, filter)
    const byAge = (await namesOf(vendor, `status=active${filter}`)).toSorted()
    assert.deepEqual(byAge, names, filter)
    assert.deepEqual(await namesOf(vendor, `q=a&status=revoked${filter}`), [], filter)
  }
  assert.deepEqual(await namesOf(vendor, 'status=active'), ['a5', 'a4', 'a2', 'a3', 'a1'])
  assert.deepEqual(await namesOf(vendor, 'q=a', vendor.test), ['a2', 'a5'])
  const bound = await makeSecretKey(harness, vendor, { project_ids: [project.id] })
  assert.deepEqual(await namesOf(vendor, 'q=a', bound.key), ['a4'])
  assert.deepEqual(await namesOf(vendor, 'status=active', bound.key), ['a4'])
})

test('a search finds nothing of another workspace', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const [key] = await issueNamed(vendor, ['secret plan'])
  for (const q of ['secret', key.id, key.display_prefix]) {
    assert.deepEqual(await namesOf(other, `q=${q}`), [])
    assert.deepEqual(await namesOf(vendor, `q=${q}`), ['secret plan'])
  }
  assert.deepEqual(await namesOf(other, 'status=active'), [])
})

test('a cursor works only with the filter of its page', async () => {
  const vendor = await makeVendor(harness)
  await issueNamed(vendor, ['a1', 'a2', 'a3'])
  const filters = [
    '',
    'q=a',
    'q=A',
    'q=a&env=live',
    'q=a&status=active',
    'status=active',
    'status=active&env=live',
  ]
  const cursors = new Map<string, string>()
  for (const filter of filters) {
    const { body } = await ask('GET', `/v1/keys?limit=1&${filter}`, { token: vendor.live })
    cursors.set(filter, body.next_cursor)
  }
  for (const [of, cursor] of cursors) {
    for (const filter of filters) {
      const { status, body } = await ask('GET', `/v1/keys?${filter}&cursor=${cursor}`, { token: vendor.live })
      assert.equal(status, of === filter ? 200 : 400, `${of} with ${filter}`)
      if (of !== filter) assert.equal(body.errors[0].path, 'cursor')
    }
  }
})

test('a page goes on behind a key that was renamed or revoked meanwhile', async () => {
  const vendor = await makeVendor(harness)
  const [, second] = await issueNamed(vendor, ['a1', 'a2', 'a3'])
  const { body } = await ask('GET', '/v1/keys?q=a&limit=2', { token: vendor.live })
  await ask('PATCH', `/v1/keys/${second.id}`, { token: vendor.live, body: { name: 'z' } })
  const next = await ask('GET', `/v1/keys?q=a&limit=2&cursor=${body.next_cursor}`, { token: vendor.live })
  assert.deepEqual(
    next.body.data.map((key: { name: string }) => key.name),
    ['a3'],
  )
  assert.deepEqual(await namesOf(vendor, 'q=z'), ['z'])
  await query('update api_keys set name = null where id = $1', [second.id])
  assert.deepEqual(await namesOf(vendor, 'q=z'), [])
})
