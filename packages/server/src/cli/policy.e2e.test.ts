import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { Installation, urlOf } from '../../test/installation.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { versionsRaisedBy } from '../platform/db/failover/timeline.ts'

const harness = await startHarness()
const installation = new Installation({ DATABASE_URL: urlOf(harness.connection) })
after(() => installation.remove())
const raise = (...flags: string[]) => installation.start(['policy', 'raise', ...flags]).ended

test('keyrail policy raise makes every node of a running service load its whole policy', async () => {
  const vendor = await makeVendor(harness)
  await issueKey(harness, vendor)
  const get = askFeed(harness)
  const { body: known } = await get(vendor, 'delta', '&since=1')
  const poll = async () => (await get(vendor, 'delta', `&since=${known.version}`)).body
  assert.equal((await poll()).object, 'policy_delta')

  const { code, out, err } = await raise()
  assert.deepEqual([code, out], [0, 'Raised the policy version of 1 projects.\n'], err)
  const snapshot = await poll()
  assert.equal(snapshot.object, 'policy_snapshot')
  assert.ok(snapshot.version >= known.version + versionsRaisedBy, `${snapshot.version}`)
  assert.equal(snapshot.keys.length, 1)

  const again = await raise('--json')
  assert.deepEqual(JSON.parse(again.out), { projects: 1 })
  assert.ok((await poll()).version >= snapshot.version + versionsRaisedBy)
})
