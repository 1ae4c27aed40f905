import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doChores } from '../src/platform/db/upkeep.ts'
import { liveMs } from '../src/policy/live.ts'
import { pruneNodes } from '../src/policy/upkeep.ts'
import { startHarness } from './harness.ts'
import { until } from './until.ts'
import { issueKey, makeVendor, type Vendor } from './vendor.ts'

const harness = await startHarness({ revokeWaitMs: 300 })
/** Another process: it hears no node, and knows of them what the database says. */
const other = await harness.startImpatient()
const { ask, clock, connection, deps, logged, query, stepStoreTime } = harness

const poll = async (vendor: Vendor, node: string, service: Pick<typeof other, 'ask'> = harness) => {
  const { policy_version } = (await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live }))
    .body
  const url = `/v1/policy/delta?project_id=${vendor.projectId}&since=${policy_version}&node=${node}`
  await service.ask('GET', url, { token: vendor.live })
}
const revoke = async (vendor: Vendor, id: string, service: Pick<typeof other, 'ask'> = harness) =>
  (await service.ask('POST', `/v1/keys/${id}/revoke?wait=true`, { token: vendor.live })).body.propagation
const liveNodes = async (vendor: Vendor): Promise<string[]> =>
  (await ask('GET', `/v1/projects/${vendor.projectId}/nodes`, { token: vendor.live })).body.data
    .filter(({ live }: { live: boolean }) => live)
    .map(({ node }: { node: string }) => node)
const acknowledgedBy = async (vendor: Vendor, id: string) => [
  (await revoke(vendor, id)).acknowledged,
  (await revoke(vendor, id, other)).acknowledged,
]
/** Sets the clock, and waits until both processes say so without a request. */
async function step(hours: number, said: string): Promise<void> {
  const before = logged.length
  await stepStoreTime(hours)
  const heard = () =>
    logged.slice(before).filter(line => line.includes(said) && JSON.parse(line).seconds > 3_000)
  await until(() => heard().length === 2, said)
}
/** A vendor whose node `one` holds the revocation of a key, as both processes know. */
async function makeFleet() {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await poll(vendor, 'one')
  await revoke(vendor, id)
  await poll(vendor, 'one')
  assert.deepEqual(await acknowledgedBy(vendor, id), [true, true])
  return vendor
}
/** Ends the time for which the processes are not sure, as if it had passed. */
const pass = () => clock.skip(liveMs)

for (const hours of [1, 25])
  test(`a database set ${hours} h ahead: no process claims that nodes hold a revocation`, async () => {
    const vendor = await makeFleet()
    const { id } = await issueKey(harness, vendor)
    await stepStoreTime(hours)
    // The node still serves, and no row says so.
    assert.deepEqual(await acknowledgedBy(vendor, id), [false, false])
    // It answers with its first count: waiting cannot make the nodes known.
    const { reason, waited_ms } = await revoke(vendor, id)
    assert.deepEqual([reason, waited_ms], ['nodes_unknown', 0])
    await doChores(connection, [pruneNodes], deps.log)
    await poll(vendor, 'one')
    assert.deepEqual(await acknowledgedBy(vendor, id), [false, false])
    pass()
    assert.deepEqual(await acknowledgedBy(vendor, id), [true, true])
    const { nodes, reason: none } = await revoke(vendor, id)
    assert.deepEqual([nodes, none], [1, undefined])
    await step(0, 'set back')
  })

test('a clock set ahead is noticed without a request; nodes are live with their next poll', async () => {
  const vendor = await makeFleet()
  await step(1, 'set ahead')
  assert.deepEqual(await liveNodes(vendor), [])
  await poll(vendor, 'one')
  assert.deepEqual(await liveNodes(vendor), ['one'])
  pass()
  await step(0, 'set back')
})

test('set back, revocations wait for nodes that are gone; set right, nothing is claimed', async () => {
  const vendor = await makeFleet()
  await poll(vendor, 'gone')
  await query(
    `update policy_nodes set seen_at = service_now() - interval '91 seconds' where workspace_id = $1 and node = 'gone'`,
    [vendor.workspaceId],
  )
  assert.deepEqual(await liveNodes(vendor), ['one'])
  await step(-1, 'set back')
  const { id } = await issueKey(harness, vendor)
  assert.deepEqual((await revoke(vendor, id)).pending, ['gone', 'one'])
  await poll(vendor, 'one')
  const { acknowledged, nodes, pending } = await revoke(vendor, id, other)
  assert.deepEqual([acknowledged, nodes, pending], [false, 2, ['gone']])

  const next = await issueKey(harness, vendor)
  await stepStoreTime(0)
  // Now the row of the node that serves is an hour old.
  assert.deepEqual(await acknowledgedBy(vendor, next.id), [false, false])
  await poll(vendor, 'one')
  pass()
  assert.deepEqual(await acknowledgedBy(vendor, next.id), [true, true])
  assert.deepEqual((await revoke(vendor, next.id)).nodes, 1)
})
