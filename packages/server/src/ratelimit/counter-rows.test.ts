import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { systemClock } from '../platform/clock.ts'
import { openCounterRows } from './counter-rows.ts'

const harness = await startHarness({ maxCountersPerWorkspace: 32 })
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)

const check = (keyId: string, { token = vendor.live, cost = 1 } = {}) =>
  harness.ask('POST', '/v1/ratelimit/check', {
    token,
    body: {
      project_id: vendor.projectId,
      env: 'live',
      key_id: keyId,
      cost,
      limits: [{ id: 'burst', limit: 100, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
    },
  })

test('beyond its counters a workspace’s new ones are refused, those that are there go on, and others’ too', async () => {
  const keys = Array.from({ length: 40 }, () => randomUUID())
  const answers = await Promise.all(keys.map(key => check(key)))
  const refused = answers.filter(({ status }) => status === 409)
  assert.equal(refused.length, 8)
  for (const { body } of refused) assert.equal(body.code, 'counter_limit_reached')
  for (const [i, { status }] of answers.entries())
    if (status === 200) assert.equal((await check(keys[i] as string)).body.limits[0].remaining, 98)
  assert.equal((await check(randomUUID(), { cost: 0 })).body.limits[0].remaining, 100, 'a look needs no row')
  assert.equal((await check(randomUUID())).status, 409)
  assert.equal((await check(randomUUID(), { token: other.live })).status, 200)
  const [{ count }] = await harness.query('select count(*) from rate_counters where workspace_id = $1', [
    vendor.workspaceId,
  ])
  assert.equal(count, 32)
  assert.match(await harness.deps.metrics.text(), /keyrail_workspace_limit_ratio\{limit="counters"\} 1\b/)
})

test('a process that has made few finds those of the others by counting', async () => {
  const rows = openCounterRows(harness.connection, 32, systemClock, harness.deps.log)
  rows.add(vendor.workspaceId, 1)
  while (rows.hasRoom(vendor.workspaceId, 1)) await new Promise(setImmediate)
  assert.equal(rows.hasRoom(other.workspaceId, 1), true)
  await rows.close()
})
