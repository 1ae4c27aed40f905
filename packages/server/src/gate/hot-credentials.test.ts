import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'
import { openHotCredentials } from './hot-credentials.ts'
import type { SecretKeyRecord } from './lookup.ts'
import { unlimited } from './principal.ts'

const record: SecretKeyRecord = {
  ...unlimited,
  workspaceId: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11',
  id: '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d12',
  role: 'owner',
  env: 'live',
  active: true,
  endsInMs: null,
  stale: true,
}
const digest = Buffer.alloc(32, 1)

/** Look-ups that the test answers, a clock that it moves, and a hint that it sends. */
function scene(cacheMs = 5_000) {
  let time = 1_000
  let revoked = () => {}
  const asked: ((record: SecretKeyRecord | null) => void)[] = []
  const hot = openHotCredentials(
    { run: () => new Promise(resolve => asked.push(resolve)) },
    cacheMs,
    { now: () => 0, monotonic: () => time },
    {
      listen(_topic, hear) {
        revoked = hear
        return () => {}
      },
    },
  )
  return {
    asked,
    run: () => hot.run(digest),
    revoked: () => revoked(),
    advance: (ms: number) => {
      time += ms
    },
    /** Requests the record, and lets the database answer if it was queried. */
    async found(answer: SecretKeyRecord | null = record) {
      const before = asked.length
      const answered = hot.run(digest)
      if (asked.length > before) asked.at(-1)?.(answer)
      return { record: await answered, wasLookedUp: asked.length > before }
    },
  }
}

test('a record is reused for exactly 5 s after its look-up began', async () => {
  const { found, advance, run, asked } = scene()
  const slow = run()
  advance(400)
  asked[0]?.(record)
  assert.equal((await slow)?.id, record.id)
  advance(4_599)
  assert.equal((await found()).wasLookedUp, false)
  advance(1)
  assert.equal((await found()).wasLookedUp, true)
})

test('a look-up that began before a revocation is not cached, however late it ends', async () => {
  const { found, run, asked, revoked } = scene()
  const slow = run()
  revoked()
  asked[0]?.(record)
  // The key was valid at the look-up, so this request passes; the next one looks it up again.
  assert.equal((await slow)?.active, true)
  assert.deepEqual(await found({ ...record, active: false }), {
    record: { ...record, active: false },
    wasLookedUp: true,
  })
})

test('an old look-up does not replace the result of a newer one', async () => {
  const { found, run, asked, revoked } = scene()
  const slow = run()
  revoked()
  await found({ ...record, role: 'admin' })
  asked[0]?.(record)
  await slow
  const { record: kept, wasLookedUp } = await found()
  assert.deepEqual([kept?.role, wasLookedUp], ['admin', false])
})

test('a hint of a revocation empties the cache at once', async () => {
  const { found, revoked } = scene()
  await found()
  revoked()
  assert.equal((await found()).wasLookedUp, true)
})

test('a key is not reused beyond its own expiry', async () => {
  const { found, advance } = scene()
  await found({ ...record, endsInMs: 700 })
  advance(699)
  assert.equal((await found()).wasLookedUp, false)
  advance(1)
  assert.equal((await found()).wasLookedUp, true)
})

test('unknown, revoked and expired keys are never cached', async () => {
  const { found } = scene()
  for (const answer of [null, { ...record, active: false }]) {
    await found(answer)
    assert.equal((await found(answer)).wasLookedUp, true)
  }
})

test('with hotAuthCacheMs 0 every request is looked up', async () => {
  const { found } = scene(0)
  await found()
  assert.equal((await found()).wasLookedUp, true)
})

test('the use of a key is recorded with the look-up, not with cached requests', async () => {
  const { found } = scene()
  assert.equal((await found()).record?.stale, true)
  assert.equal((await found()).record?.stale, false)
})

const check = (projectId: string) => ({
  project_id: projectId,
  env: 'live',
  limits: [{ id: 'burst', limit: 10, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }],
})

for (const hotAuthCacheMs of [0, 5_000]) {
  test(`a key revoked in this process is refused at once (hotAuthCacheMs ${hotAuthCacheMs})`, async () => {
    const harness = await startHarness({ hotAuthCacheMs })
    const { ask } = harness
    const vendor = await makeVendor(harness)
    const ask200 = async (token: string) =>
      (await ask('POST', '/v1/ratelimit/check', { token, body: check(vendor.projectId) })).status
    const made = async () =>
      (await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })).body
    const [leaked, replaced] = [await made(), await made()]
    assert.deepEqual([await ask200(leaked.key), await ask200(replaced.key)], [200, 200])
    await ask('POST', `/v1/secret_keys/${leaked.id}/revoke`, { token: vendor.live })
    const rotated = await ask('POST', `/v1/secret_keys/${replaced.id}/rotate`, {
      token: vendor.live,
      body: { overlap_hours: 0 },
    })
    assert.deepEqual([await ask200(leaked.key), await ask200(replaced.key)], [401, 401])
    assert.equal(await ask200(rotated.body.key), 200)
  })
}

test('a key revoked without a hint is refused once its cached record expires', async () => {
  const harness = await startHarness({ hotAuthCacheMs: 400 })
  const { ask, query } = harness
  const vendor = await makeVendor(harness)
  const status = async () =>
    (await ask('POST', '/v1/ratelimit/check', { token: vendor.live, body: check(vendor.projectId) })).status
  assert.equal(await status(), 200)
  // Directly in the database, so that no hint is sent.
  await query('update secret_keys set revoked_at = now() where id = $1', [vendor.liveId])
  await until(async () => (await status()) !== 200, 'the key is refused')
  assert.equal(await status(), 401)
})
