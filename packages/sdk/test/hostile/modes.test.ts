import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PAGE_FLOOR_MS } from '../../src/feed/walk.ts'
import { FLOOR_MS } from '../../src/http/schedule.ts'
import { openKeyring } from '../../src/keyring/keyring.ts'
import { pause } from '../../src/runtime/pause.ts'
import { type FeedService, project, secretKey, startFeedService } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'
import { type Carrier, carriers } from '../transports.ts'
import { until } from '../until.ts'
import { bodyModes } from './body-modes.ts'
import { bearer, type Mode } from './mode.ts'
import { statusModes } from './status-modes.ts'
import { wireModes } from './wire-modes.ts'

/**
 * Every known way in which a service can misbehave, over each transport, before a node has ever served and after. In every case: no key is
 * served that was not confirmed in time or is invented, each failure is reported once, the service is not flooded, and
 * the node recovers with the service.
 */

const modes: readonly Mode[] = [...wireModes, ...statusModes, ...bodyModes]
/** Far more than the delays of a busy machine. */
const TTL_MS = 60_000
/** Enough failures to show whether a node polls too often. */
const FAILURES = 12

/** Waits for the longest pause that a service can cause. */
const patient = async (holds: () => boolean, what: string) => {
  for (let turn = 0; turn < 2 && !holds(); turn++) await until(holds, what).catch(() => {})
  await until(holds, what)
}

function openNode(service: FeedService, cachedTtlMs: number, fetch: Carrier) {
  const time = { passedMs: 0, pausedMs: 0, dueMs: 0, passed: () => {} }
  /** Lets time pass in the node's next pause: within a poll it would count as what the poll took, and shorten the pause. */
  const pass = (milliseconds: number): Promise<void> =>
    new Promise(resolve => {
      time.dueMs = milliseconds
      time.passed = resolve
    })
  const errors: { code: string; message: string }[] = []
  const pauses: number[] = []
  const openedAt = Date.now()
  service.clock = () => openedAt + time.pausedMs + time.passedMs
  const keyring = openKeyring(
    {
      url: service.url,
      secretKey,
      project,
      pollIntervalMs: 100,
      cachedTtlMs,
      fetch,
      onError: ({ code, message }) => errors.push({ code, message }),
    },
    {
      // Advances only between polls, for the service too, so that nothing depends on how fast this machine is.
      clock: {
        wall: service.clock,
        monotonic: () => time.pausedMs + time.passedMs,
        pause: async (milliseconds, signal) => {
          pauses.push(milliseconds)
          await pause(Math.min(milliseconds, FLOOR_MS), signal)
          if (milliseconds === PAGE_FLOOR_MS) return
          time.pausedMs += milliseconds
          time.passedMs += time.dueMs
          time.dueMs = 0
          time.passed()
        },
      },
      random: () => 0.5,
    },
  )
  /** Checks what holds at any time, whatever the service does. */
  const check = (forged: string) => {
    assert.ok(!keyring.verify(forged).valid)
    assert.equal(({} as { valid?: unknown }).valid, undefined)
    for (const { message } of errors) assert.ok(!message.includes(secretKey.slice(10)), message)
    for (const { headers } of service.asked) assert.equal(headers.authorization, bearer)
    for (const each of pauses) assert.ok(each === PAGE_FLOOR_MS || each >= FLOOR_MS, `a pause of ${each} ms`)
    // Each pause is followed by a poll or a page, and a poll may send a second request, for a snapshot.
    assert.ok(service.asked.length <= 2 * (pauses.length + 1), `${service.asked.length} requests`)
  }
  return { keyring, pass, errors, check }
}

async function tryIt(mode: Mode, fetch: Carrier, isServing: boolean): Promise<void> {
  const { cachedTtlMs = TTL_MS } = mode
  const code = fetch === undefined ? mode.code : (mode.fetchCode ?? mode.code)
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
  const { keyring, pass, errors, check } = openNode(service, cachedTtlMs, fetch)
  const verdict = () => keyring.verify(key).code
  try {
    if (isServing) {
      await keyring.ready()
      misbehave()
    }
    const failed = () => errors.filter(error => error.code === code).length
    if (code === undefined) await until(() => answered > 3, 'it was answered')
    else
      await patient(
        () => failed() >= (mode.ends || mode.isSlow || mode.isTaken ? 1 : FAILURES),
        `${code} is reported`,
      )
    check(forged)
    if (code === undefined) {
      assert.deepEqual(errors, [])
      assert.equal(verdict(), 'valid')
    } else if (!mode.isTaken) {
      // Reported once for each failed poll. On a busy machine a large answer may also time out.
      assert.equal(keyring.stats().polls.error, errors.length)
      assert.ok(errors.every(error => error.code === code || error.code === 'timeout'))
      assert.equal(verdict(), isServing ? 'valid' : 'not_ready')
    }
    if (!isServing && mode.ends) {
      await assert.rejects(keyring.ready(), { code })
      return
    }
    if (code !== undefined && !mode.isTaken && isServing) {
      await pass(cachedTtlMs)
      assert.equal(verdict(), 'stale')
    }
    service.misbehave = undefined
    service.upsert(policyKey(fresh, 2))
    await patient(() => keyring.verify(fresh).valid && verdict() === 'valid', 'the node recovers')
    await keyring.ready()
    check(forged)
  } finally {
    await keyring.close()
    await service.close()
  }
}

test('every mode has a unique name, and there are many', () => {
  assert.equal(new Set(modes.map(({ name }) => name)).size, modes.length)
  assert.ok(modes.length >= 100)
})

function play(played: readonly Mode[]): void {
  for (const [carrier, fetch] of carriers)
    for (const mode of played) {
      const name = `${mode.name}, over ${carrier}, to a node that`
      if (mode.only !== 'start') test(`${name} serves`, () => tryIt(mode, fetch, true))
      if (mode.only !== 'serving') test(`${name} starts`, () => tryIt(mode, fetch, false))
    }
}

describe('whatever the service does', { concurrency: 32 }, () => play(modes.filter(mode => !mode.isAlone)))

describe('however much the service sends', () => play(modes.filter(mode => mode.isAlone)))
