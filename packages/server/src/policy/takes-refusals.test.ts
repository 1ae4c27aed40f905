import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const get = askFeed(harness)
const vendor = await makeVendor(harness)
await issueKey(harness, vendor)

/** Whether a snapshot, a delta and an answer without changes say it, and the features that they list. */
async function said(features: string, live = vendor.live) {
  const who = { ...vendor, live }
  const snapshot = (await get(who, 'snapshot', features)).body
  const delta = (await get(who, 'delta', `&since=1${features}`)).body
  const current = (await get(who, 'delta', `&since=${snapshot.version}${features}`)).body
  assert.deepEqual([delta.changes.length, current.changes.length], [1, 0])
  const bodies = [snapshot, delta, current]
  const lists = new Set(bodies.map(body => JSON.stringify(body.features)))
  return [bodies.map(body => body.takes_refusals), [...lists].map(list => list && JSON.parse(list))]
}
const [yes, no] = [
  [true, true, true],
  [undefined, undefined, undefined],
]

test('every answer says that refusals are taken, to nodes that name the feature, and lists none', async () => {
  assert.deepEqual(await said('&features=refusals'), [yes, [undefined]])
  assert.deepEqual(await said('&features=held_ms,refusals'), [yes, [undefined]])
  assert.deepEqual(await said('&features=external_id,refusals'), [yes, [['external_id']]])
  // The pages are shared with nodes that name nothing.
  assert.deepEqual(await said(''), [no, [undefined]])
  assert.deepEqual(await said('&features=external_id'), [no, [['external_id']]])
})

test('they are taken from a key that may report, and from no other', async () => {
  const keyOf = async (permissions: string[]) => (await makeSecretKey(harness, vendor, { permissions })).key
  assert.deepEqual(await said('&features=refusals', await keyOf(['policy:read', 'usage:report'])), [
    yes,
    [undefined],
  ])
  assert.deepEqual(await said('&features=refusals', await keyOf(['policy:read'])), [no, [undefined]])
})
