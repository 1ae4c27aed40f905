import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import { createWatch } from './watch.ts'

const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)

const poll = async (features: string, prefer: Record<string, string> = { prefer: 'wait=1' }) => {
  const { body } = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  const since = body.policy_version
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&since=${since}${features}`
  const answer = await ask('GET', path, { token: vendor.live, headers: prefer })
  assert.equal(answer.status, 200)
  return answer.body
}

test('a held answer says for how long, to nodes that name the feature, and lists no feature', async () => {
  await issueKey(harness, vendor)
  const body = await poll('&features=held_ms')
  // The look at the start of the wait, or the one after a second.
  assert.ok(
    Number.isInteger(body.held_ms) && body.held_ms >= 0 && body.held_ms <= 1_000,
    String(body.held_ms),
  )
  assert.equal('features' in body, false)
  assert.equal('held_ms' in (await poll('')), false)
  assert.equal('held_ms' in (await poll('&features=held_ms', {})), false, 'it was not held')
  const beside = await poll('&features=held_ms,external_id')
  assert.deepEqual([beside.features, typeof beside.held_ms], [['external_id'], 'number'])
})

test('it counts up to the last look that succeeded, and not up to the answer', async () => {
  const time = { now: 1_000 }
  let answer: () => Promise<PolicyHead | null> = async () => ({ version: 7 }) as PolicyHead
  let look = () => {}
  const hints = {
    listen: (_: string, hear: () => void) => {
      look = hear
      return () => {}
    },
  }
  const watch = createWatch(
    { run: () => answer(), depth: () => 0 },
    hints,
    { all: 1, ofWorkspace: 1 },
    () => time.now,
  )
  const gone = new AbortController()
  const ref = { workspaceId: vendor.workspaceId, projectId: vendor.projectId, reach: 'both' } as const
  const wait = watch.change(ref, 7, 60_000, gone.signal)
  await setImmediate()
  time.now = 4_000
  look()
  await setImmediate()
  answer = () => Promise.reject(new Error('the database is away'))
  time.now = 9_000
  look()
  await setImmediate()
  time.now = 20_000
  gone.abort()
  assert.deepEqual(await wait, { head: null, lookedAt: 4_000 })
})
