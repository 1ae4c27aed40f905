import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fleet, fleetKinds } from './harness/feed-fleet.ts'
import { watchFleet } from './harness/feed-fleet-watch.ts'
import { runRevocations } from './harness/feed-revocations.ts'

test('no node accepts a revoked key after a poll, or any key beyond its time, in any outage', async () => {
  // The whole drill, which also judges the time, is `npm run drills -- p5`.
  const { broken, verified, stale, figures } = await runRevocations({
    cycles: 1,
    slackMs: Number.POSITIVE_INFINITY,
  })
  assert.deepEqual(broken, [])
  assert.ok(verified > 1_000 && stale > 0, `${verified} verifications, ${stale} stale`)
  assert.ok(figures.size >= 5, [...figures.keys()].join())
})

test('the watch detects a node that accepts a revoked key, or any key beyond its time', () => {
  let age = 0
  const keyring = { verify: () => ({ code: 'valid' }), stats: () => ({ confirmedAgeMs: age }) }
  const node = { name: 'n', kind: 'polled', cuttable: false, ...fleetKinds.polled, keyring }
  const watch = watchFleet({ nodes: [node] } as unknown as Fleet)
  watch.revoked('fresh', { key: 'k', acknowledgedAt: performance.now() - 10 })
  assert.match(watch.broken.at(-1) ?? '', /accepted after a poll since the revocation/)
  age = fleetKinds.polled.cachedTtlMs
  watch.revoked('old', { key: 'k', acknowledgedAt: performance.now() })
  watch.stop()
  assert.match(watch.broken.at(-1) ?? '', /1500 ms after its last answer/)
})
