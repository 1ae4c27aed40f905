import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { usageReports } = harness.deps

test('a flood of one workspace’s reports keeps no report of another one waiting', async () => {
  const [flooding, other] = [await makeVendor(harness), await makeVendor(harness)]
  const send = ({ workspaceId }: { workspaceId: string }) =>
    usageReports.run({
      workspaceId,
      env: 'live',
      projectIds: null,
      reportId: randomUUID(),
      sampleRate: 1,
      records: Array.from({ length: 40 }, () => ({ keyId: randomUUID(), hour: 0, count: 1 })),
    })
  let answered = 0
  const flood = Array.from({ length: 1_000 }, async () => {
    await send(flooding)
    answered += 1
  })
  assert.deepEqual(await send(other), { accepted: 0, ignored: 40 })
  // Its batch and one that may have been under way.
  assert.ok(answered < 500, `${answered} reports came first`)
  await Promise.all(flood)
})
