import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness({ revokeWaitMs: 300 })
const impatient = await harness.startImpatient()
const { ask, query } = harness

type Vendor = Awaited<ReturnType<typeof makeVendor>>

const poll = (vendor: Vendor, since: number, node: string, more = '', token = vendor.live) =>
  ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&node=${node}${more}`, { token })
const versionOf = async (vendor: Vendor): Promise<number> =>
  (await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })).body.policy_version
const rowsOf = (vendor: Vendor) =>
  query('select node, sees, version, seen_at from policy_nodes where workspace_id = $1 order by node, sees', [
    vendor.workspaceId,
  ])
const held = async (vendor: Vendor) =>
  Object.fromEntries((await rowsOf(vendor)).map(({ node, sees, version }) => [`${node} ${sees}`, version]))
const revoke = async (vendor: Vendor, id: string, token = vendor.live) =>
  (await ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token })).body.propagation

test('a poll records the version that a node holds, per environment', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await poll(vendor, 2, 'a')
  await poll(vendor, 1, 'a')
  await poll(vendor, 2, 'a', '&env=live')
  await poll(vendor, 2, 'a', '', vendor.test)
  await poll(vendor, 3, 'ahead')
  await poll(vendor, 999_999_999_999_999, 'far-ahead')
  assert.deepEqual(await held(vendor), { 'a both': 1, 'a live': 2, 'a test': 2 })
})

test('a node in its first walk counts as live at version 0; a later walk keeps its version', async () => {
  const vendor = await makeVendor(harness)
  const walk = (node: string) =>
    ask('GET', `/v1/policy/snapshot?project_id=${vendor.projectId}&node=${node}`, { token: vendor.live })
  await walk('new')
  await poll(vendor, 1, 'old')
  await walk('old')
  assert.deepEqual(await held(vendor), { 'new both': 0, 'old both': 1 })
})

test('a current node that was seen recently causes no write', async () => {
  const vendor = await makeVendor(harness)
  const seenAt = async () => (await rowsOf(vendor))[0].seen_at.getTime()
  await poll(vendor, 1, 'a')
  await query(`update policy_nodes set seen_at = '2020-01-01' where workspace_id = $1`, [vendor.workspaceId])
  const old = await seenAt()
  await poll(vendor, 1, 'a')
  assert.equal(await seenAt(), old)
  await issueKey(harness, vendor)
  await poll(vendor, 2, 'a')
  assert.notEqual(await seenAt(), old)
})

test('revoke with wait is acknowledged once every live node has polled from its version', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const before = await versionOf(vendor)
  for (const node of ['a', 'b']) await poll(vendor, before, node)
  const waiting = revoke(vendor, id)
  await until(async () => (await versionOf(vendor)) !== before, 'the revocation is committed')
  const { body } = await poll(vendor, before, 'a')
  assert.deepEqual(body.changes[0].change, 'tombstone')
  for (const node of ['a', 'b']) await poll(vendor, body.version, node)
  const { waited_ms, ...propagation } = await waiting
  assert.deepEqual(propagation, {
    acknowledged: true,
    version: before + 1,
    nodes: 2,
    nodes_acknowledged: 2,
    pending: [],
  })
  assert.ok(Number.isInteger(waited_ms))
})

test('a silent node is pending after the wait; a repeat waits for the original version', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const before = await versionOf(vendor)
  for (const node of ['quick', 'silent']) await poll(vendor, before, node)
  const first = await revoke(vendor, id)
  assert.deepEqual(
    [first.acknowledged, first.nodes, first.nodes_acknowledged, first.pending],
    [false, 2, 0, ['quick', 'silent']],
  )
  await issueKey(harness, vendor)
  await poll(vendor, before + 1, 'quick')
  const again = await revoke(vendor, id)
  assert.deepEqual([again.version, again.pending], [first.version, ['silent']])
  await poll(vendor, before + 1, 'silent')
  assert.deepEqual((await revoke(vendor, id)).acknowledged, true)
})

test('revoke waits only for nodes of the environment that were seen within 90 s', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const trial = await issueKey(harness, vendor, { env: 'test' })
  const version = await versionOf(vendor)
  await poll(vendor, version, 'test-only', '', vendor.test)
  await poll(vendor, version, 'live-only', '&env=live')
  await poll(vendor, version, 'gone')
  await query(
    `update policy_nodes set seen_at = service_now() - interval '91 seconds' where workspace_id = $1 and node = 'gone'`,
    [vendor.workspaceId],
  )
  assert.deepEqual((await revoke(vendor, id)).pending, ['live-only'])
  assert.deepEqual((await revoke(vendor, trial.id)).pending, ['test-only'])
})

test('a test credential cannot acknowledge for a node that serves live keys', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const version = await versionOf(vendor)
  await poll(vendor, version, 'api-1')
  await poll(vendor, version, 'api-1', '', vendor.test)
  const waiting = revoke(vendor, id)
  await until(async () => (await versionOf(vendor)) !== version, 'the revocation is committed')
  await poll(vendor, version + 1, 'api-1', '', vendor.test)
  const propagation = await waiting
  assert.deepEqual([propagation.acknowledged, propagation.nodes, propagation.pending], [false, 1, ['api-1']])
})

test('a response names at most 50 pending nodes', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const version = await versionOf(vendor)
  await Promise.all(Array.from({ length: 60 }, (_, i) => poll(vendor, version, `n${i}`)))
  const propagation = await revoke(vendor, id)
  assert.deepEqual(
    [propagation.nodes, propagation.nodes_acknowledged, propagation.pending.length],
    [60, 0, 50],
  )
})

test('a full list of nodes replaces silent nodes with new ones, never live nodes', async () => {
  const vendor = await makeVendor(harness)
  const other = await makeVendor(harness)
  const count = async () => (await rowsOf(vendor)).length
  const flood = (from: number) =>
    query(
      `select count(*) from policy_nodes_seen(array_fill($1::uuid, array[12000]), array_fill($2::uuid, array[12000]),
         array_fill('both'::text, array[12000]), (select array_agg('flood-' || i) from generate_series($3::int, $3 + 11999) i),
         array_fill(1::bigint, array[12000]), 9000, 1000)`,
      [vendor.workspaceId, vendor.projectId, from],
    )
  await poll(vendor, 1, 'mine')
  for (const from of [0, 6_000, 1_000_000]) {
    await flood(from)
    assert.equal(await count(), 9_000)
  }
  await poll(vendor, 1, 'turned-away')
  await poll(other, 1, 'elsewhere')
  assert.equal((await held(vendor))['turned-away both'], undefined)
  assert.equal((await held(vendor))['mine both'], 1)
  assert.deepEqual(await held(other), { 'elsewhere both': 1 })
  await query(
    `update policy_nodes set seen_at = service_now() - interval '91 seconds' where workspace_id = $1 and node <> 'mine'`,
    [vendor.workspaceId],
  )
  // The rejected node must not count as acknowledged.
  const { id } = await issueKey(harness, vendor)
  await poll(vendor, 2, 'mine')
  const propagation = await revoke(vendor, id)
  assert.deepEqual([propagation.acknowledged, propagation.pending], [false, ['mine', 'turned-away']])
  await poll(vendor, 1, 'let-in')
  assert.equal(await count(), 9_000)
  assert.equal((await held(vendor))['let-in both'], 1)
  assert.equal((await held(vendor))['mine both'], 2)
})

test('any number of test nodes leaves room for nodes that serve live keys', async () => {
  const vendor = await makeVendor(harness)
  await query(
    `select count(*) from policy_nodes_seen(array_fill($1::uuid, array[12000]), array_fill($2::uuid, array[12000]),
       array_fill('test'::text, array[12000]), (select array_agg('flood-' || i) from generate_series(1, 12000) i),
       array_fill(1::bigint, array[12000]), 9000, 1000)`,
    [vendor.workspaceId, vendor.projectId],
  )
  assert.equal((await rowsOf(vendor)).length, 1_000)
  const { id } = await issueKey(harness, vendor)
  await poll(vendor, 2, 'live-one')
  assert.deepEqual((await revoke(vendor, id)).pending, ['live-one'])
})

test('nodes get their policy and count as pending while the database rejects them', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await query('alter table policy_nodes rename to policy_nodes_gone')
  await query('create table policy_nodes (like policy_nodes_gone)')
  await query(`alter table policy_nodes add constraint full_disk check (false)`)
  try {
    assert.equal((await poll(vendor, 2, 'a')).status, 200)
  } finally {
    await query('drop table policy_nodes')
    await query('alter table policy_nodes_gone rename to policy_nodes')
  }
  const propagation = await revoke(vendor, id)
  assert.deepEqual([propagation.acknowledged, propagation.nodes, propagation.pending], [false, 1, ['a']])
  await poll(vendor, 3, 'a')
  assert.deepEqual(await held(vendor), { 'a both': 3 })
  assert.equal((await revoke(vendor, id)).acknowledged, true)
})

test('a node that one process could not record is acknowledged through another', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await query('alter table policy_nodes add constraint full_disk check (version > 0) not valid')
  try {
    const walk = `/v1/policy/snapshot?project_id=${vendor.projectId}&node=a`
    assert.equal((await ask('GET', walk, { token: vendor.live })).status, 200)
  } finally {
    await query('alter table policy_nodes drop constraint full_disk')
  }
  assert.deepEqual((await revoke(vendor, id)).pending, ['a'])
  const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=3&node=a`
  assert.equal((await impatient.ask('GET', url, { token: vendor.live })).status, 200)
  const { waited_ms, ...propagation } = await revoke(vendor, id)
  assert.deepEqual(propagation, {
    acknowledged: true,
    version: 3,
    nodes: 1,
    nodes_acknowledged: 1,
    pending: [],
  })
})

test('what was recorded before a process failed to record a restarted node does not count', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=2&node=a`
  assert.equal((await impatient.ask('GET', url, { token: vendor.live })).status, 200)
  await query('update policy_nodes set version = 3 where workspace_id = $1', [vendor.workspaceId])
  await query('alter table policy_nodes add constraint full_disk check (version > 2) not valid')
  try {
    assert.equal((await poll(vendor, 1, 'a')).status, 200)
  } finally {
    await query('alter table policy_nodes drop constraint full_disk')
  }
  const propagation = await revoke(vendor, id)
  assert.deepEqual([propagation.acknowledged, propagation.pending], [false, ['a']])
})

test('a poll is answered although its node cannot be recorded', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await query('begin')
  await query('lock table policy_nodes')
  try {
    const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=a`
    const { status, body } = await impatient.ask('GET', url, { token: vendor.live })
    assert.deepEqual([status, body.changes.length], [200, 1])
  } finally {
    await query('rollback')
  }
})

test('a committed revocation is 200 although the nodes cannot be counted', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await query('begin')
  await query('lock table policy_nodes')
  try {
    const { status, body } = await impatient.ask('POST', `/v1/keys/${id}/revoke?wait=true`, {
      token: vendor.live,
    })
    assert.equal(status, 200)
    assert.equal(body.propagation.acknowledged, false)
  } finally {
    await query('rollback')
  }
})

test('revoking a key of a deleted project waits for the version of the deletion', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  const version = await versionOf(vendor)
  await poll(vendor, version, 'a')
  await ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  const propagation = await revoke(vendor, id)
  assert.deepEqual(
    [propagation.acknowledged, propagation.version, propagation.pending],
    [false, version + 1, ['a']],
  )
  await poll(vendor, version + 1, 'a')
  assert.equal((await revoke(vendor, id)).acknowledged, true)
})
