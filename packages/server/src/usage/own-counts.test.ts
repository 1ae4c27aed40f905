import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { OwnCounts, ownCountsMax, ownCountsOfOneMax } from './own-counts.ts'
import type { RefusalReport, Report } from './reports.ts'

const harness = await startHarness()
const { ask, deps, query } = harness

/** Counts with a database that can be away. */
function open() {
  const state = { isAway: false, sent: [] as (Report | RefusalReport)[], warned: 0 }
  const through =
    <One extends Report | RefusalReport, Answer>(run: (one: One) => Promise<Answer>) =>
    async (one: One) => {
      state.sent.push(one)
      if (state.isAway) throw new Error('away')
      return await run(one)
    }
  const { usageReports } = deps
  const counts = new OwnCounts({
    reports: {
      run: through<Report, never>(one => usageReports.run(one) as never),
      refusals: {
        run: through<RefusalReport, never>(one => usageReports.refusals.run(one) as never),
        depth: () => 0,
      },
    },
    makeId: deps.makeId,
    budgets: { requestMs: 30_000, countsMs: 86_400_000 },
    log: {
      warn() {
        state.warned += 1
      },
    } as never,
  })
  return { state, counts }
}

const vendor = await makeVendor(harness)
const { workspaceId, projectId, live } = vendor
const hour = Math.floor(Date.now() / 3_600_000)
const totalOf = async (id: string) =>
  (await ask('GET', `/v1/keys/${id}/usage?days=1`, { token: live })).body.total

test('requests of a key and hour are one record, and one report has all keys of a workspace', async () => {
  const { state, counts } = open()
  const other = await makeVendor(harness)
  const [one, two] = [await issueKey(harness, vendor), await issueKey(harness, vendor, { env: 'test' })]
  const foreign = await issueKey(harness, other)
  for (let n = 0; n < 5; n++) counts.use({ workspaceId, keyId: one.id, hour })
  counts.use({ workspaceId, keyId: one.id, hour: hour - 1 })
  counts.use({ workspaceId, keyId: two.id, hour })
  counts.use({ workspaceId: other.workspaceId, keyId: foreign.id, hour })
  assert.equal(counts.size, 4)
  await counts.flush()
  assert.deepEqual([counts.size, state.sent.length], [0, 2])
  const rows = await query('select requests::int as n from usage_hours where key_id = $1 order by hour', [
    one.id,
  ])
  assert.deepEqual([rows.map(({ n }) => n), await totalOf(two.id)], [[1, 5], 1])
  await counts.flush()
  assert.equal(state.sent.length, 2)
})

test('what the database does not take is sent again under the same ids, and counted once', async () => {
  const { state, counts } = open()
  const { id } = await issueKey(harness, vendor)
  const place = { workspaceId, projectId, env: 'live', hour } as const
  counts.use({ workspaceId, keyId: id, hour })
  counts.refuse(place, 'expired_key')
  state.isAway = true
  await counts.flush()
  assert.equal(counts.size, 2)
  counts.use({ workspaceId, keyId: id, hour })
  state.isAway = false
  await counts.flush()
  const ids = state.sent.map(({ reportId }) => reportId)
  assert.deepEqual([ids.length, new Set(ids).size], [5, 3])
  assert.equal(await totalOf(id), 2)
  const first = state.sent[0] as Report
  assert.deepEqual(await deps.usageReports.run(first), { accepted: 1, ignored: 0 })
  assert.equal(await totalOf(id), 2)
  const { body } = await ask('GET', `/v1/usage/refusals?days=1`, { token: live })
  assert.deepEqual(body.data, [{ reason: 'expired_key', count: 1 }])
})

test('what waits has a bound, and a key that waits already is counted on', async () => {
  const { state, counts } = open()
  const { id } = await issueKey(harness, vendor)
  counts.use({ workspaceId, keyId: id, hour })
  for (let n = 0; n < ownCountsMax + 5; n++) counts.use({ workspaceId: `${n}`, keyId: '', hour })
  assert.deepEqual([counts.size, state.warned], [ownCountsMax, 1])
  counts.use({ workspaceId, keyId: id, hour })
  assert.equal(counts.size, ownCountsMax)
})

test('a workspace whose counts wait leaves room for the counts of others', async () => {
  const { state, counts } = open()
  const [flood, { id }] = [randomUUID(), await issueKey(harness, vendor)]
  const fill = () => {
    for (let n = 0; n < ownCountsOfOneMax + 5; n++) counts.use({ workspaceId: flood, keyId: `${n}`, hour })
  }
  state.isAway = true
  fill()
  assert.deepEqual([counts.size, state.warned], [ownCountsOfOneMax, 1])
  counts.use({ workspaceId, keyId: id, hour })
  assert.equal(counts.size, ownCountsOfOneMax + 1)
  await counts.flush()
  fill()
  assert.equal(counts.size, ownCountsOfOneMax + 1)
})

test('codes that say nothing about a key are not counted, nor is a project that is gone', async () => {
  const { state, counts } = open()
  const place = { workspaceId, projectId: randomUUID(), env: 'test', hour } as const
  for (const code of ['missing_key', 'malformed_key', 'valid']) counts.refuse(place, code)
  assert.equal(counts.size, 0)
  counts.refuse(place, 'rate_limited')
  await counts.flush()
  assert.deepEqual([state.sent.length, counts.size], [1, 0])
})

test('a process that closes writes what it has counted', async () => {
  const second = await harness.startImpatient()
  const { id } = await issueKey(harness, vendor)
  second.deps.ownCounts.use({ workspaceId, keyId: id, hour })
  await second.deps.ownCounts.close()
  assert.equal(await totalOf(id), 1)
})
