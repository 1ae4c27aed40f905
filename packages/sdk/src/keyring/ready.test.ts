import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { type FeedService, project, secretKey, startFeedService } from '../../test/feed-service.ts'
import { drawKey, policyKey } from '../../test/keys.ts'
import { until } from '../../test/until.ts'
import { createKeyrail } from '../keyrail/keyrail.ts'
import { opened } from '../protect/opened.ts'
import { createKeyring } from './keyring.ts'

/** How long a start may take, and what it says of itself meanwhile. */

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
  service.upsert(policyKey(drawKey(), 1))
})
afterEach(() => service.close())

const folder = mkdtempSync(join(tmpdir(), 'keyrail-ready-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Answers nothing until it is let go. */
function stalled() {
  const { promise: gate, resolve: go } = Promise.withResolvers<void>()
  const later: typeof fetch = async (where, init) => {
    await gate
    return fetch(where, init)
  }
  return { later, go }
}
const connection = () => ({ url: service.url, secretKey, project, onError() {} })

test('ready() rejects after readyTimeoutMs, and the keyring goes on', async () => {
  const { later, go } = stalled()
  await using keyring = createKeyring({ ...connection(), fetch: later, readyTimeoutMs: 5 })
  await assert.rejects(keyring.ready(), {
    code: 'ready_timeout',
    retryable: true,
    message: 'No keys were loaded within 5 ms: the service has not answered yet',
  })
  go()
  await until(() => keyring.stats().serving, 'the keys are loaded')
  await keyring.ready()
  assert.throws(
    () => createKeyring({ ...connection(), readyTimeoutMs: 0 }),
    /readyTimeoutMs must be an integer/,
  )
})

test('ready_timeout has the last error in it', async () => {
  const fails = async () => Response.json({}, { status: 502 })
  const failed = Promise.withResolvers<void>()
  const pause = (_: number, signal: AbortSignal) =>
    Promise.race([
      failed.promise,
      new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())),
    ])
  const { openKeyring } = await import('./keyring.ts')
  await using keyring = openKeyring(
    { ...connection(), fetch: fails, readyTimeoutMs: 1_000, onError: () => failed.resolve() },
    { clock: { wall: Date.now, monotonic: () => performance.now(), pause }, random: Math.random },
  )
  await assert.rejects(
    keyring.ready(),
    /^KeyrailError: No keys were loaded within 1000 ms: GET .* 502 http_502/,
  )
})

test('handlers that open a keyring keep it after ready_timeout', async () => {
  const { later, go } = stalled()
  await using keyring = createKeyring({ ...connection(), fetch: later, readyTimeoutMs: 1 })
  const open = () => ({ keyring })
  assert.equal((await opened(open)).keyring, keyring)
  go()
})

test('health() says whether keys can be verified, from where, and how old they are', async () => {
  const keys = { cacheDir: join(folder, 'keys') }
  const first = createKeyrail({ ...connection(), keys })
  const before = first.health()
  assert.deepEqual(before, { ok: false, lagMs: null, source: null, lastError: null, holdSeconds: 25 })
  await first.ready()
  const { lagMs, ...served } = first.health()
  assert.ok(lagMs !== null && lagMs >= 0)
  assert.deepEqual(served, { ok: true, source: 'service', lastError: null, holdSeconds: 25 })
  await first.close()
  assert.deepEqual(first.health(), {
    ...{ ok: false, lagMs: null, source: null, lastError: 'closed', holdSeconds: 0 },
  })

  const { later } = stalled()
  const restarted = createKeyrail({ ...connection(), keys, fetch: later })
  await restarted.ready()
  assert.deepEqual([restarted.health().ok, restarted.health().source], [true, 'disk'])
  await restarted.close()

  const broken = async () => Response.json({}, { status: 502 })
  const failing = createKeyrail({ ...connection(), keys, fetch: broken })
  await until(() => failing.health().lastError !== null, 'a poll has failed')
  const { ok, lastError, holdSeconds } = failing.health()
  assert.deepEqual([ok, lastError, holdSeconds], [true, 'http_502', 0])
  await failing.close()
})
