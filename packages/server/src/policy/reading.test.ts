import assert from 'node:assert/strict'
import { test } from 'node:test'
import { figuresFrom } from '../../test/figures.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'

const noon = Date.UTC(2026, 0, 31, 12)

/** A service with one vendor, at a time that stands still. */
async function stage() {
  const harness = await startHarness()
  const at = (seconds: number) => harness.setStoreTime(new Date(noon + seconds * 1_000))
  await at(0)
  const vendor = await makeVendor(harness)
  const poll = ({ live, projectId }: Vendor, since: number, node: string, more = '') =>
    harness.ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=${node}${more}`, {
      token: live,
    })
  return { harness, vendor, at, poll, read: figuresFrom(harness.deps.metrics) }
}

const states = ['live', 'behind', 'silent'].map(state => `keyrail_nodes{state="${state}"}`)

test('nodes are live, behind or silent, with the age of the oldest change that one misses', async () => {
  const { harness, vendor, at, poll, read } = await stage()
  assert.deepEqual(await read(...states), [0, 0, 0])
  await poll(vendor, 1, 'gone')
  await at(60)
  for (const node of ['slow', 'good']) await poll(vendor, 1, node)
  await at(70)
  await issueKey(harness, vendor)
  await poll(vendor, 2, 'good')
  await at(100)
  const ages = ['keyrail_nodes_oldest_missed_change_seconds', 'keyrail_nodes_oldest_acknowledgement_seconds']
  assert.deepEqual(await read(...states, ...ages), [2, 1, 1, 30, 40])
  await poll(vendor, 2, 'slow')
  assert.deepEqual(await read(...states, ...ages), [2, 0, 1, 0, 30])
})

test('a live node is full from 80 % of the keys on that it may hold, by its last report', async () => {
  const { harness, vendor, at, poll, read } = await stage()
  const held = (keys: number, most: number) => `&held_keys=${keys}&held_keys_max=${most}`
  const full = 'keyrail_nodes{state="full"}'
  await poll(vendor, 1, 'room', held(30_399, 38_000))
  await poll(vendor, 1, 'silent', held(38_000, 38_000))
  await poll(vendor, 1, 'says-nothing')
  harness.clock.skip(95_000)
  await at(95)
  assert.deepEqual(await read(full), [0])
  await poll(vendor, 1, 'room', held(30_400, 38_000))
  await poll(vendor, 1, 'none', held(0, 0))
  assert.deepEqual(await read(full), [2])
  harness.clock.skip(35_000)
  await at(130)
  await poll(vendor, 1, 'room', held(30_400, 1_000_000))
  await poll(vendor, 1, 'none')
  assert.deepEqual(await read(full), [0])
})

test('the time from a change to its acknowledgement is measured once for each node that follows', async () => {
  const { harness, vendor, at, poll, read } = await stage()
  const propagation = ['count', 'sum'].map(part => `keyrail_policy_propagation_seconds_${part}`)
  for (const node of ['one', 'two', 'asleep']) await poll(vendor, 1, node)
  await at(10)
  await issueKey(harness, vendor)
  await at(12)
  await issueKey(harness, vendor)
  assert.deepEqual(await read(...propagation), [0, 0])
  await at(14)
  // It has missed a change from second 10 on.
  await poll(vendor, 3, 'one')
  assert.deepEqual(await read(...propagation), [1, 4])
  await at(15)
  await poll(vendor, 2, 'two')
  await at(16)
  await poll(vendor, 3, 'two')
  assert.deepEqual(await read(...propagation), [3, 4 + 5 + 4])
  await poll(vendor, 3, 'new')
  await at(300)
  await poll(vendor, 3, 'asleep')
  assert.deepEqual(await read(...propagation), [3, 13])
})
