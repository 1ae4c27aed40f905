import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFeed } from '../../test/feed.ts'
import { FeedNode } from '../../test/feed-node.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { openVerify } from '../../test/verifying.ts'

/** Keys that are too old for their project, to nodes that know such keys and to all others, by HTTP and explained. */
const harness = await startHarness()
const { ask, query } = harness
const get = askFeed(harness)
const knows = { features: ['lifetime'] }
const dayMs = 86_400_000

/** A vendor with an endless key, one that ends in ten days, and one that ends in a year; each was made so many days ago. */
async function setUp(daysAgo: number) {
  const vendor = await makeVendor(harness)
  const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
  const keys = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor, { expires_at: inDays(10) }),
    await issueKey(harness, vendor, { expires_at: inDays(365) }),
  ]
  await query(
    `update api_keys set created_at = created_at - $2 * interval '24 hours' where workspace_id = $1`,
    [vendor.workspaceId, daysAgo],
  )
  const rule = async (body: object) => {
    const { status } = await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body })
    assert.equal(status, 200)
  }
  const made = async (id: string) =>
    Date.parse((await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body.created_at)
  return { vendor, keys, rule, made }
}
const endsOf = (keys: readonly { id: string }[], { keys: held }: FeedNode) =>
  keys.map(({ id }) => {
    const { expires_at, too_old_at } = held.get(id) ?? {}
    return [expires_at, too_old_at]
  })

test('a rule that refuses reaches each node with a snapshot, and ends with one', async () => {
  const { vendor, keys, rule, made } = await setUp(0)
  const [knowing, other] = [new FeedNode(harness, knows), new FeedNode(harness)]
  const pollAll = async () => {
    for (const node of [knowing, other]) await node.poll(vendor, 2)
  }
  await pollAll()
  const before = endsOf(keys, knowing)
  assert.deepEqual(before, endsOf(keys, other))
  await rule({ max_key_lifetime_days: 90 })
  await pollAll()
  assert.deepEqual([knowing.walks, other.walks], [1, 1])
  await rule({ lifetime: 'refuse' })
  await pollAll()
  assert.deepEqual([knowing.walks, other.walks], [2, 2])
  const ends: string[] = []
  for (const { id } of keys) ends.push(new Date((await made(id)) + 90 * dayMs).toISOString())
  const [endless, near, far] = ends
  const [[never], [soon], [late]] = before as [unknown[], unknown[], unknown[]]
  assert.deepEqual(endsOf(keys, knowing), [
    [never, endless],
    [soon, undefined],
    [late, far],
  ])
  assert.ok(near !== undefined)
  assert.deepEqual(endsOf(keys, other), [
    [endless, undefined],
    [soon, undefined],
    [far, undefined],
  ])
  await rule({ max_key_lifetime_days: null })
  await pollAll()
  assert.deepEqual([endsOf(keys, knowing), endsOf(keys, other)], [before, before])
})

test('a change of a key has its age too, and the answer names the feature', async () => {
  const { vendor, keys, rule, made } = await setUp(0)
  await rule({ max_key_lifetime_days: 1, lifetime: 'refuse' })
  const { version, features } = (await get(vendor, 'snapshot', '&features=lifetime')).body
  assert.deepEqual(features, ['lifetime'])
  const [key] = keys
  const token = vendor.live
  await ask('PATCH', `/v1/keys/${key?.id}`, { token, body: { name: 'n' } })
  const { body } = await get(vendor, 'delta', `&features=lifetime&since=${version}`)
  const end = new Date((await made(key?.id ?? '')) + dayMs).toISOString()
  assert.deepEqual(
    body.changes.map(({ too_old_at, expires_at }: Record<string, unknown>) => [too_old_at, expires_at]),
    [[end, null]],
  )
})

test('by HTTP a key that is too old is refused with the next call, and explained', async () => {
  const { vendor, keys, rule } = await setUp(31)
  const { codeOf } = openVerify(harness, vendor)
  const [key] = keys
  const { id = '', key: text = '' } = key ?? {}
  const explain = async (more = '') => {
    const { body } = await ask('GET', `/v1/keys/${id}/explain${more}`, { token: vendor.live })
    const { detail } = body.reasons.find(({ code }: { code: string }) => code === 'too_old')
    return [body.code, detail]
  }
  assert.match((await explain())[1], /accepts keys of any age/)
  await rule({ max_key_lifetime_days: 30 })
  assert.equal(await codeOf(text), 'valid')
  const reported = await explain()
  assert.equal(reported[0], 'valid')
  assert.match(reported[1], /It reports older keys, and accepts them/)
  await rule({ lifetime: 'refuse' })
  assert.equal(await codeOf(text, { scopes: ['a'] }), 'too_old')
  const refused = await explain()
  assert.equal(refused[0], 'too_old')
  assert.match(refused[1], /allows 30 days, and so this key until .*\. It refuses older keys\.$/)
  const then = new Date(Date.now() - 2 * dayMs).toISOString()
  assert.equal((await explain(`?at=${then}`))[0], 'valid')
  await rule({ max_key_lifetime_days: 32 })
  assert.equal(await codeOf(text), 'valid')
})

test('of expiry and age the one that came first is the verdict, as in a node', async () => {
  const { vendor, keys, rule } = await setUp(31)
  const { codeOf } = openVerify(harness, vendor)
  await rule({ max_key_lifetime_days: 30, lifetime: 'refuse' })
  for (const [hoursAgo, code] of [
    [12, 'too_old'],
    [36, 'expired_key'],
  ] as const) {
    const { id, key } = keys[0] ?? { id: '', key: '' }
    await query("update api_keys set expires_at = now() - $2 * interval '1 hour' where id = $1", [
      id,
      hoursAgo,
    ])
    const explained = await ask('GET', `/v1/keys/${id}/explain`, { token: vendor.live })
    assert.deepEqual([await codeOf(key), explained.body.code], [code, code])
  }
})
