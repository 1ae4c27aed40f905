import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness({ revokeWaitMs: 300 })
const impatient = await harness.startImpatient()
const { ask, query } = harness

type Vendor = Awaited<ReturnType<typeof makeVendor>>

const poll = (vendor: Vendor, since: number, node: string, more = '', token = vendor.live) =>
  ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}&node=${node}${more}`, { token })
const revoke = async (vendor: Vendor, id: string) =>
  (await ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: vendor.live })).body.propagation
const nodesOf = async (vendor: Vendor): Promise<string[]> =>
  (
    await query('select node, sees from policy_nodes where workspace_id = $1 order by node, sees', [
      vendor.workspaceId,
    ])
  ).map(({ node, sees }) => `${node} ${sees}`)

test('a revocation waits for the nodes that stay, not for one that has left', async () => {
  const vendor = await makeVendor(harness)
  const [first, second] = [await issueKey(harness, vendor), await issueKey(harness, vendor)]
  for (const node of ['leaves', 'stays']) await poll(vendor, 3, node)
  await poll(vendor, 3, 'leaves', '&leaving=true')
  assert.deepEqual((await revoke(vendor, first.id)).pending, ['stays'])
  await poll(vendor, 4, 'stays')
  await poll(vendor, 4, 'stays', '&leaving=true')
  const { waited_ms: _, ...propagation } = await revoke(vendor, second.id)
  assert.deepEqual(propagation, {
    acknowledged: true,
    version: 5,
    nodes: 0,
    nodes_acknowledged: 0,
    pending: [],
  })
})

test('a node that leaves is answered at once, without the changes that it lacks', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  await issueKey(harness, vendor)
  const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=a&leaving=true`
  const { status, body } = await ask('GET', url, { token: vendor.live, headers: { prefer: 'wait=20' } })
  assert.deepEqual(
    [status, body.object, body.since, body.version, body.changes],
    [200, 'policy_delta', 3, 3, []],
  )
})

test('a node that polls after it has left counts again at once', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await poll(vendor, 1, 'a')
  await poll(vendor, 1, 'a', '&leaving=true')
  assert.deepEqual(await nodesOf(vendor), [])
  await poll(vendor, 1, 'a', '&leaving=false')
  assert.deepEqual((await revoke(vendor, id)).pending, ['a'])
})

test('a node leaves only the project and the environments that its credential sees', async () => {
  const vendor = await makeVendor(harness)
  const other = await makeVendor(harness)
  await poll(vendor, 0, 'a')
  await poll(vendor, 0, 'a', '&env=live')
  await poll(vendor, 0, 'a', '', vendor.test)
  await poll(vendor, 0, 'a', '&leaving=true', vendor.test)
  assert.equal((await poll(vendor, 0, 'a', '&leaving=true', other.live)).status, 404)
  assert.deepEqual(await nodesOf(vendor), ['a both', 'a live'])
})

test('a node that cannot be removed in time gets its answer', async () => {
  const vendor = await makeVendor(harness)
  await poll(vendor, 1, 'a')
  await query('begin')
  await query('lock table policy_nodes')
  try {
    const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=a&leaving=true`
    assert.equal((await impatient.ask('GET', url, { token: vendor.live })).status, 200)
  } finally {
    await query('rollback')
  }
})

test('`leaving` that is neither true nor false is refused, and the node stays', async () => {
  const vendor = await makeVendor(harness)
  await poll(vendor, 0, 'a')
  const { status, body } = await poll(vendor, 0, 'a', '&leaving=1')
  assert.deepEqual([status, body.errors?.[0]?.path], [400, 'leaving'])
  assert.deepEqual(await nodesOf(vendor), ['a both'])
})
