import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceTime } from './service-time.ts'

const NOON = Date.parse('2027-01-01T12:00:00Z')
const HOUR = 3_600_000

function setUp() {
  const clock = { at: { wall: NOON, monotonic: 5_000 }, wall: () => 0, monotonic: () => 0 }
  clock.wall = () => clock.at.wall
  clock.monotonic = () => clock.at.monotonic
  const pass = (ms: number) => {
    clock.at.wall += ms
    clock.at.monotonic += ms
  }
  const time = new ServiceTime(clock)
  /** How long before its request the answer was given. */
  const late = (generatedAt: number) =>
    clock.at.monotonic - time.answered({ generatedAt, sentAt: clock.at.monotonic })
  return { at: clock.at, pass, time, late }
}

test('before the first answer the time is the machine’s, after it the service’s', () => {
  const { at, pass, time } = setUp()
  assert.equal(time.now(), NOON)
  at.wall += HOUR
  time.observe(NOON + 7)
  assert.equal(time.now(), NOON + 7)
  pass(1_000)
  assert.equal(time.now(), NOON + 1_007)
})

test('after the first answer a wrong or changed machine clock has no effect', () => {
  for (const step of [-HOUR, HOUR]) {
    const { at, pass, time } = setUp()
    time.observe(NOON)
    at.wall += step
    assert.equal(time.now(), NOON)
    pass(500)
    time.observe(NOON + 500)
    assert.equal(time.now(), NOON + 500)
  }
})

test('a process that was stopped gets the time from the next answer', () => {
  const { time, late } = setUp()
  time.observe(NOON)
  assert.equal(late(NOON + HOUR), 0)
  assert.equal(time.now(), NOON + HOUR)
})

test('a service clock that is set back is followed after its answers agree for 5 s', () => {
  const { pass, time, late } = setUp()
  time.observe(NOON + HOUR)
  for (const second of [0, 1, 2, 3, 4]) {
    assert.equal(late(NOON + second * 1_000), HOUR)
    assert.equal(time.now(), NOON + HOUR + second * 1_000)
    pass(1_000)
  }
  assert.equal(late(NOON + 5_000), 0)
  assert.equal(time.now(), NOON + 5_000)
})

test('two answers are too few to follow a clock that was set back', () => {
  const { pass, time } = setUp()
  time.observe(NOON + HOUR)
  time.observe(NOON)
  pass(10_000)
  time.observe(NOON + 10_000)
  assert.equal(time.now(), NOON + HOUR + 10_000)
})

test('answers that stand still confirm no more than once, however many caches give them', () => {
  for (const gaps of [[0], [0, 7_000], [0, 3_000, 6_000, 9_000]]) {
    const { at, pass, time, late } = setUp()
    time.observe(NOON)
    const began = at.monotonic
    for (let second = 1; second <= 300; second++) {
      pass(1_000)
      const gap = gaps[second % gaps.length] ?? 0
      assert.equal(late(NOON - gap), at.monotonic - began + gap)
      assert.equal(time.now(), NOON + second * 1_000)
    }
  }
})

test('processes whose clocks are apart lose the difference, and never the time', () => {
  for (const apart of [500, 10_000, 45_000]) {
    const { pass, time, late } = setUp()
    time.observe(NOON + apart)
    for (let second = 2; second < 600; second += 2) {
      pass(2_000)
      const isAhead = second % 4 === 0
      assert.equal(late(NOON + second * 1_000 + (isAhead ? apart : 0)), isAhead ? 0 : apart)
    }
  }
})

test('after one that was ahead, processes 3 s apart that answer by turns are followed', () => {
  const { pass, time, late } = setUp()
  time.observe(NOON + HOUR)
  const seen: number[] = []
  for (let second = 5; second <= 60; second += 5) {
    pass(5_000)
    seen.push(late(NOON + second * 1_000 + (second % 10 === 0 ? 3_000 : 0)))
  }
  assert.ok(
    seen.slice(5).every(each => each <= 3_000),
    String(seen),
  )
})

test('a clock that drifts is followed', () => {
  const { pass, late } = setUp()
  let generated = NOON
  for (let times = 0; times < 10_000; times++) {
    assert.ok(late(generated) <= 2_100)
    pass(5_000)
    // A thousandth slower than ours.
    generated += 4_995
  }
})

test('the time of an earlier process counts until an answer corrects it', () => {
  const { at, pass, time } = setUp()
  at.wall += HOUR
  assert.equal(time.at(5_000), undefined)
  time.resume(NOON)
  pass(1_000)
  assert.deepEqual([time.now(), time.at(5_000)], [NOON + 1_000, NOON])
  for (let second = 0; second <= 6; second++) {
    time.observe(NOON - HOUR + second * 1_000)
    pass(1_000)
  }
  assert.equal(time.now(), NOON - HOUR + 7_000)
})
