import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openKeyring } from '../../src/keyring/keyring.ts'
import { type FeedService, projectId, secretKey, startFeedService } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'
import { until } from '../until.ts'
import { bodyModes } from './body-modes.ts'
import { bearer, type Mode } from './mode.ts'
import { statusModes } from './status-modes.ts'
import { wireModes } from './wire-modes.ts'

/**
 * Every way in which a service can misbehave that we know of, before a node has ever served and after. Whatever it is: no key is
 * served that was not confirmed in time, none that was made up, it is told of once each time, the service is not flooded, and
 * the node is well as soon as the service is.
 */

const modes: readonly Mode[] = [...wireModes, ...statusModes, ...bodyModes]
/** Far more than a busy machine keeps a test waiting. */
const TTL_MS = 60_000
/** No two polls begin within less. A timer may fire a millisecond early. */
const FLOOR_MS = 99
/** So many failures show whether a node asks too often. */
const FAILURES = 12

/** Waits as long as the longest pause that a service can make a node take. */
const patient = async (holds: () => boolean, what: string) => {
  for (let turn = 0; turn < 2 && !holds(); turn++) await until(holds, what).catch(() => {})
  await until(holds, what)
}

function openNode(service: FeedService, cachedTtlMs: number) {
  const time = { passedMs: 0 }
  const errors: { code: string; message: string }[] = []
  const openedAt = performance.now()
  const keyring = openKeyring(
    {
      baseUrl: service.url,
      secretKey,
      projectId,
      pollIntervalMs: 100,
      cachedTtlMs,
      onError: ({ code, message }) => errors.push({ code, message }),
    },
    {
      clock: { wall: () => Date.now() + time.passedMs, monotonic: () => performance.now() + time.passedMs },
      random: Math.random,
    },
  )
  /** What holds at any time, whatever the service does. */
  const check = (forged: string) => {
    assert.ok(!keyring.verify(forged).valid)
    assert.equal(({} as { valid?: unknown }).valid, undefined)
    for (const { message } of errors) assert.ok(!message.includes(secretKey.slice(10)), message)
    for (const { headers } of service.asked) assert.equal(headers.authorization, bearer)
    // The first two begin at once, and each may ask for changes and then for all, or for a second page.
    const polls = (performance.now() - openedAt) / FLOOR_MS + 2
    assert.ok(service.asked.length <= 2 * polls + 2, `${service.asked.length} requests`)
  }
  return { keyring, time, errors, check }
}

async function tryIt(mode: Mode, isServing: boolean): Promise<void> {
  const { cachedTtlMs = TTL_MS } = mode
  const [key, fresh, forged] = [drawKey(), drawKey(), drawKey()]
  const service = await startFeedService()
  service.upsert(policyKey(key, 1))
  let answered = 0
  const misbehave = () => {
    service.misbehave = asked => {
      answered++
      return mode.answer(asked, service)
    }
  }
  if (!isServing) misbehave()
  const { keyring, time, errors, check } = openNode(service, cachedTtlMs)
  const verdict = () => keyring.verify(key).code
  try {
    if (isServing) {
      await keyring.ready()
      misbehave()
    }
    const { code } = mode
    const failed = () => errors.filter(error => error.code === code).length
    if (code === undefined) await until(() => answered > 3, 'it was answered')
    else
      await patient(
        () => failed() >= (mode.ends || mode.isSlow || mode.isTaken ? 1 : FAILURES),
        `${code} is told`,
      )
    check(forged)
    if (code === undefined) {
      assert.deepEqual(errors, [])
      assert.equal(verdict(), 'valid')
    } else if (!mode.isTaken) {
      // Told once for each poll that failed. What is large may also not come in time, on a busy machine.
      assert.equal(keyring.stats().polls.error, errors.length)
      assert.ok(errors.every(error => error.code === code || error.code === 'timeout'))
      assert.equal(verdict(), isServing ? 'valid' : 'not_ready')
    }
    if (!isServing && mode.ends) {
      await assert.rejects(keyring.ready(), { code })
      return
    }
    if (code !== undefined && !mode.isTaken && isServing) {
      time.passedMs = cachedTtlMs
      service.aheadMs = time.passedMs
      assert.equal(verdict(), 'stale')
    }
    service.misbehave = undefined
    service.upsert(policyKey(fresh, 2))
    await patient(() => keyring.verify(fresh).valid && verdict() === 'valid', 'the node is well again')
    await keyring.ready()
    check(forged)
  } finally {
    await keyring.close()
    await service.close()
  }
}

test('every mode has a name of its own, and there are many', () => {
  assert.equal(new Set(modes.map(({ name }) => name)).size, modes.length)
  assert.ok(modes.length >= 100)
})

describe('whatever the service does', { concurrency: 32 }, () => {
  for (const mode of modes) {
    if (mode.only !== 'start') test(`${mode.name}, to a node that serves`, () => tryIt(mode, true))
    if (mode.only !== 'serving') test(`${mode.name}, to a node that starts`, () => tryIt(mode, false))
  }
})
