import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openAwakeClock } from './awake-clock.ts'

const HOUR = 3_600_000

/** A machine whose monotonic clock stands still while it sleeps. */
function open({ hasUptime = true, precisionMs = 1_000 } = {}) {
  const at = { wall: 1_800_000_000_000, monotonic: 5_000, uptime: precisionMs === 1_000 ? 90_000 : 90_120 }
  const clock = openAwakeClock(
    { wall: () => at.wall, monotonic: () => at.monotonic },
    hasUptime ? () => Math.floor(at.uptime / precisionMs) * precisionMs : undefined,
  )
  after(() => clock.close())
  const began = clock.monotonic()
  return {
    runs(milliseconds: number) {
      for (const name of ['wall', 'monotonic', 'uptime'] as const) at[name] += milliseconds
    },
    /** Sleeps, and runs for a millisecond after waking. */
    sleeps(milliseconds: number) {
      at.wall += milliseconds + 1
      at.uptime += milliseconds + 1
      at.monotonic += 1
    },
    setsClock(milliseconds: number) {
      at.wall += milliseconds + 1
      at.uptime += 1
      at.monotonic += 1
    },
    passed: () => clock.monotonic() - began,
  }
}

test('a millisecond after waking the whole sleep has passed, however short it was', () => {
  const machine = open()
  for (const [slept, all] of [
    [60_000, 60_001],
    [379, 60_381],
    [2_900, 63_282],
    [8 * HOUR, 63_283 + 8 * HOUR],
  ] as const) {
    machine.sleeps(slept)
    assert.equal(machine.passed(), all)
  }
  machine.runs(1_000)
  assert.equal(machine.passed(), 64_283 + 8 * HOUR)
})

test('a clock that is set counts for a second at most, and never backwards', () => {
  for (const set of [HOUR, 365 * 24 * HOUR]) {
    const machine = open()
    machine.setsClock(set)
    assert.equal(machine.passed(), 1_001)
    machine.setsClock(-set)
    assert.equal(machine.passed(), 1_002)
    machine.runs(10)
    assert.equal(machine.passed(), 1_012)
  }
})

test('where the uptime is in hundredths, a sleep counts, and a clock that is set does not', () => {
  const machine = open({ precisionMs: 10 })
  machine.setsClock(HOUR)
  assert.equal(machine.passed(), 1)
  machine.sleeps(379)
  assert.equal(machine.passed(), 381)
  machine.setsClock(-HOUR)
  assert.equal(machine.passed(), 382)
  machine.sleeps(8 * HOUR)
  assert.equal(machine.passed(), 383 + 8 * HOUR)
  for (let times = 1; times <= 100; times += 1) {
    machine.setsClock(60)
    assert.equal(machine.passed(), 383 + times + 8 * HOUR)
  }
})

test('a machine that does not say how long it is up has its monotonic clock alone', () => {
  const machine = open({ hasUptime: false })
  machine.setsClock(HOUR)
  machine.runs(5)
  assert.equal(machine.passed(), 6)
})
