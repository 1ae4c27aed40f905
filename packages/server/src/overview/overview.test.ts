import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyExample } from '@keyrail/contract/vendor/overview'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeFleet } from '../../test/usage-fleet.ts'
import { issueKey, makeSecretKey, makeVendor, type Vendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

const read = async (vendor: Vendor, more = '', token = vendor.live) =>
  (await ask('GET', `/v1/overview?${more}`, { token })).body
const attentionOf = async (vendor: Vendor, more = '') => (await read(vendor, more)).needs_attention
const figure = ({ count, capped, examples }: { count: number; capped: boolean; examples: KeyExample[] }) => [
  count,
  capped,
  examples.map(({ name }) => name),
]

interface Ages {
  /** Days from now; null: never. */
  expires?: number | null
  /** Days ago; null: never. */
  used?: number | null
  made?: number
  env?: string
  revoked?: boolean
  paused?: boolean
}
/** Makes a key whose times are so many days from now. */
async function makeKey(vendor: Vendor, name: string, ages: Ages = {}): Promise<string> {
  const { expires = null, used = null, made = 0, env = 'live', revoked = false, paused = false } = ages
  const { id } = await issueKey(harness, vendor, { name, env })
  await query(
    `update api_keys set expires_at = service_now() + $2 * interval '1 day', last_used_at = service_now() - $3 * interval '1 day',
       created_at = service_now() - $4 * interval '1 day',
       idle_since = service_now() - greatest(coalesce($3, $4), least(coalesce($3 + 6, $4), $4)) * interval '1 day',
       revoked_at = case when $5::boolean then service_now() end,
       disabled_at = case when $6::boolean then service_now() end, disabled_by = case when $6::boolean then 'vendor' end
     where id = $1`,
    [id, expires, used, made, revoked, paused],
  )
  return id
}

test('keys are counted as active, expiring, unused and endless, by environment', async () => {
  const vendor = await makeVendor(harness)
  await makeKey(vendor, 'endless')
  await makeKey(vendor, 'soon', { expires: 13 })
  await makeKey(vendor, 'sooner', { expires: 1 })
  await makeKey(vendor, 'later', { expires: 15, used: 89, made: 200 })
  await makeKey(vendor, 'unused', { expires: 100, used: 91, made: 200 })
  await makeKey(vendor, 'longer', { expires: 100, used: 100, made: 200 })
  await makeKey(vendor, 'never', { expires: 100, made: 95 })
  await makeKey(vendor, 'expired', { expires: -1, used: 100, made: 200 })
  await makeKey(vendor, 'revoked', { used: 100, made: 200, revoked: true })
  await makeKey(vendor, 'of test', { env: 'test', expires: 1, used: 100, made: 200 })
  const { active_keys, needs_attention, env } = await read(vendor)
  assert.deepEqual([env, active_keys], ['live', { count: 7, capped: false }])
  assert.deepEqual(figure(needs_attention.expiring_keys), [2, false, ['sooner', 'soon']])
  assert.deepEqual(figure(needs_attention.unused_keys), [3, false, ['longer', 'unused', 'never']])
  assert.deepEqual(figure(needs_attention.endless_keys), [1, false, ['endless']])
  const test = await read(vendor, 'env=test')
  assert.deepEqual([test.env, test.active_keys.count], ['test', 1])
  for (const name of ['expiring_keys', 'unused_keys'])
    assert.deepEqual(figure(test.needs_attention[name]), [1, false, ['of test']])
  assert.deepEqual(figure(test.needs_attention.endless_keys), [0, false, []])
})

test('a paused key needs no attention, as its lists leave it out', async () => {
  const vendor = await makeVendor(harness)
  await makeKey(vendor, 'soon', { expires: 1, paused: true })
  await makeKey(vendor, 'unused', { used: 100, made: 200, paused: true })
  await makeKey(vendor, 'endless', { paused: true })
  await makeKey(vendor, 'working')
  const { active_keys, needs_attention } = await read(vendor)
  for (const name of ['expiring_keys', 'unused_keys'])
    assert.deepEqual(figure(needs_attention[name]), [0, false, []], name)
  assert.deepEqual(figure(needs_attention.endless_keys), [1, false, ['working']])
  assert.equal(active_keys.count, 4)
})

test('an example has what a person needs to find the key, and at most five are shown', async () => {
  const vendor = await makeVendor(harness)
  const ids = []
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) ids.push(await makeKey(vendor, name))
  const { count, examples } = (await attentionOf(vendor)).endless_keys
  assert.deepEqual([count, examples.length], [6, 5])
  const { body } = await ask('GET', `/v1/keys/${ids[0]}`, { token: vendor.live })
  const { id, name, display_prefix, project_id, tenant_id, expires_at, last_used_at, created_at } = body
  assert.deepEqual(examples[0], {
    ...{ id, name, display_prefix, project_id, tenant_id, expires_at, last_used_at, created_at },
  })
})

test('a reported use takes a key out of the unused ones', async () => {
  const fleet = await makeFleet(harness)
  const key = await makeKey(fleet, 'idle', { used: 100, made: 200 })
  assert.equal((await attentionOf(fleet)).unused_keys.count, 1)
  const [{ now }] = await query('select service_now() as now')
  await fleet.report([{ key_id: key, hour: now.toISOString(), count: 1 }])
  assert.equal((await attentionOf(fleet)).unused_keys.count, 0)
  const state = () => query('select idle_since, last_used_at from api_keys where id = $1', [key])
  const [used] = await state()
  assert.deepEqual(used.idle_since, used.last_used_at)
})

test('the indexed time of a key moves once in seven days of use', async () => {
  const fleet = await makeFleet(harness)
  const key = await makeKey(fleet, 'busy', { used: 1, made: 6 })
  const before = await query('select idle_since from api_keys where id = $1', [key])
  const [{ now }] = await query('select service_now() as now')
  await fleet.report([{ key_id: key, hour: now.toISOString(), count: 1 }])
  assert.deepEqual(await query('select idle_since from api_keys where id = $1', [key]), before)
})

const fillOf =
  ({ workspaceId, projectId, tenantId }: Vendor) =>
  (count: number, expires: string, used: string) =>
    query(
      `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, expires_at,
         last_used_at, idle_since, created_at, updated_at)
       select $1, gen_random_uuid(), $2, $3, 'live', 'kr_live_abcd', sha256(gen_random_uuid()::text::bytea), ${expires}, ${used}, ${used}, now(), now()
       from generate_series(1, $4::int) n`,
      [workspaceId, projectId, tenantId, count],
    )

test('active keys with and without expiry are counted together, up to 10,000', async () => {
  const vendor = await makeVendor(harness)
  const fill = fillOf(vendor)
  const inAYear = `now() + interval '1 year'`
  const activeKeys = async () => (await read(vendor)).active_keys
  await fill(6_000, 'null', 'now()')
  await fill(4_000, inAYear, 'now()')
  assert.deepEqual(await activeKeys(), { count: 10_000, capped: false })
  for (const [count, expires] of [
    [1, inAYear],
    [6_000, inAYear],
    [4_001, 'null'],
  ] as const) {
    await fill(count, expires, 'now()')
    assert.deepEqual(await activeKeys(), { count: 10_000, capped: true })
  }
})

test('a count stops at its largest and says so', async () => {
  const vendor = await makeVendor(harness)
  const fill = fillOf(vendor)
  await fill(1_000, 'null', 'now()')
  const exact = await read(vendor)
  assert.deepEqual(exact.active_keys, { count: 1_000, capped: false })
  assert.deepEqual(figure(exact.needs_attention.endless_keys).slice(0, 2), [1_000, false])
  await fill(1, 'null', 'now()')
  const over = await read(vendor)
  assert.deepEqual(over.active_keys, { count: 1_001, capped: false })
  assert.deepEqual(figure(over.needs_attention.endless_keys).slice(0, 2), [1_000, true])
  // Keys that have expired are in the index of idle ones until they are revoked, so the search for others is cut.
  await fill(10_000, `now() - interval '1 day'`, `now() - interval '200 days'`)
  await fill(1, `now() + interval '1 year'`, `now() - interval '100 days'`)
  assert.deepEqual(figure((await attentionOf(vendor)).unused_keys).slice(0, 2), [0, true])
})

test('nodes of the environment are current or behind; silent and deleted ones are neither', async () => {
  const vendor = await makeVendor(harness)
  for (let i = 0; i < 3; i++) await issueKey(harness, vendor)
  const poll = (node: string, since: number, more = '') =>
    ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&node=${node}${more}`, {
      token: vendor.live,
    })
  await poll('current', 4)
  await poll('late', 3, '&env=live')
  await poll('later', 1)
  await poll('of-test', 1, '&env=test')
  await poll('silent', 1)
  await query(`update policy_nodes set seen_at = service_now() - interval '91 seconds' where node = 'silent'`)
  const { nodes, needs_attention } = await read(vendor)
  assert.deepEqual(nodes, { live: 3, current: 1, capped: false })
  const { count, capped, examples } = needs_attention.nodes_behind
  assert.deepEqual([count, capped], [2, false])
  assert.deepEqual(
    examples.map(({ seen_at, ...row }: { seen_at: string }) => row),
    [
      { project_id: vendor.projectId, node: 'later', env: 'both', version: 1, behind: 3 },
      { project_id: vendor.projectId, node: 'late', env: 'live', version: 3, behind: 1 },
    ],
  )
  assert.deepEqual((await read(vendor, 'env=test')).nodes, { live: 3, current: 1, capped: false })
  await ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.deepEqual((await read(vendor)).nodes, { live: 0, current: 0, capped: false })
})

test('nodes that are nearly full need attention, the fullest first', async () => {
  const vendor = await makeVendor(harness)
  const poll = (node: string, held: number, most: number, more = '') =>
    ask(
      'GET',
      `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=${node}&held_keys=${held}&held_keys_max=${most}${more}`,
      { token: vendor.live },
    )
  await poll('roomy', 799, 1_000)
  await poll('nearly', 800, 1_000)
  await poll('over', 38_000, 38_000, '&env=live')
  await poll('of-test', 10, 10, '&env=test')
  const { count, capped, examples } = (await read(vendor)).needs_attention.nodes_full
  assert.deepEqual([count, capped], [2, false])
  assert.deepEqual(
    examples.map(({ seen_at, ...row }: { seen_at: string }) => row),
    [
      { project_id: vendor.projectId, node: 'over', env: 'live', held_keys: 38_000, held_keys_max: 38_000 },
      { project_id: vendor.projectId, node: 'nearly', env: 'both', held_keys: 800, held_keys_max: 1_000 },
    ],
  )
  assert.equal((await read(vendor, 'env=test')).needs_attention.nodes_full.count, 2)
})

test('requests and billable tenants are those of the usage routes', async () => {
  const fleet = await makeFleet(harness)
  const [key, trial] = [await fleet.newKey(), await fleet.newKey({ env: 'test' })]
  const [{ now }] = await query('select service_now() as now')
  const hour = now.toISOString()
  await fleet.report([
    { key_id: key, hour, count: 5 },
    { key_id: trial, hour, count: 7 },
  ])
  for (const [env, total] of [
    ['live', 5],
    ['test', 7],
  ] as const) {
    const { requests, billable_tenants } = await read(fleet, `env=${env}`)
    const daily = await ask('GET', `/v1/usage/daily?env=${env}`, { token: fleet.live })
    assert.deepEqual([requests, requests.total, billable_tenants], [daily.body, total, 1])
  }
})

test('the unverified address is that of the signed-in person', async () => {
  const vendor = await makeVendor(harness)
  const { workspaceId } = vendor
  const unverified = await makePerson(query, { workspaceId, verified: false })
  const verified = await makePerson(query, { workspaceId })
  for (const [token, expected] of [
    [unverified.token, true],
    [verified.token, false],
    [vendor.live, false],
  ] as const)
    assert.equal((await read(vendor, '', token)).needs_attention.unverified_address, expected)
})

test('a key with every other read permission gets no overview', async () => {
  const vendor = await makeVendor(harness)
  const permissions = ['keys:read', 'usage:read', 'projects:read', 'workspace:read', 'audit:read']
  const { key } = await makeSecretKey(harness, vendor, { permissions })
  assert.equal((await read(vendor, '', key)).code, 'insufficient_permission')
})
