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
  return { at: clock.at, pass, time: new ServiceTime(clock) }
}

test('before the first answer the time is the machine’s, after it the service’s', () => {
  const { at, pass, time } = setUp()
  assert.equal(time.now(), NOON)
  at.wall += HOUR
  time.heard(NOON + 7, NOON)
  assert.equal(time.now(), NOON + 7)
  pass(1_000)
  assert.equal(time.now(), NOON + 1_007)
})

test('after the first answer a wrong or changed machine clock has no effect', () => {
  for (const step of [-HOUR, HOUR]) {
    const { at, pass, time } = setUp()
    time.heard(NOON, NOON)
    at.wall += step
    assert.equal(time.now(), NOON)
    pass(500)
    time.heard(NOON + 500, NOON)
    assert.equal(time.now(), NOON + 500)
  }
})

test('a body generated long ago does not set the time back', () => {
  const { time } = setUp()
  time.heard(NOON - HOUR, NOON)
  assert.equal(time.now(), NOON)
})

test('the whole seconds of Date never set the time back', () => {
  const { pass, time } = setUp()
  time.heard(NOON + 900, NOON)
  pass(50)
  time.heard(undefined, NOON)
  assert.equal(time.now(), NOON + 950)
})

test('a process that was stopped gets the time from the next answer, with or without a body', () => {
  const { time } = setUp()
  time.heard(NOON, NOON)
  time.heard(undefined, NOON + HOUR)
  assert.equal(time.now(), NOON + HOUR)
})

test('a service clock that is set back is followed after its answers agree for 5 s', () => {
  const { pass, time } = setUp()
  time.heard(NOON + HOUR, NOON + HOUR)
  for (const second of [0, 1, 2, 3, 4]) {
    time.heard(NOON + second * 1_000, NOON + second * 1_000)
    assert.equal(time.now(), NOON + HOUR + second * 1_000)
    pass(1_000)
  }
  time.heard(NOON + 5_000, NOON + 5_000)
  assert.equal(time.now(), NOON + 5_000)
})

test('a frozen or alternating Date does not set the time back', () => {
  const { at, pass, time } = setUp()
  time.heard(NOON, NOON)
  const began = at.monotonic
  for (let second = 1; second <= 60; second++) {
    pass(1_000)
    time.heard(NOON, second % 20 === 0 ? NOON + 10_000 : NOON)
    assert.equal(time.now(), NOON + second * 1_000)
    assert.equal(time.answeredAt(at.monotonic, NOON), second > 2 ? began : at.monotonic)
  }
  assert.equal(time.answeredAt(at.monotonic, undefined), at.monotonic)
})

test('without a Date the body’s time counts, but never sets the time back', () => {
  for (const wrong of [-HOUR, HOUR]) {
    const { at, pass, time } = setUp()
    at.wall += wrong
    time.heard(NOON)
    assert.equal(time.now(), NOON)
    pass(10_000)
    time.heard()
    assert.equal(time.now(), NOON + 10_000)
    time.heard(NOON)
    assert.equal(time.now(), NOON + 10_000)
    time.heard(NOON + 20_000)
    assert.equal(time.now(), NOON + 20_000)
  }
  const { at, time } = setUp()
  time.heard()
  at.wall += HOUR
  assert.equal(time.now(), NOON + HOUR, 'still the time of this machine')
})

test('the time of an earlier process counts until an answer corrects it', () => {
  const { at, pass, time } = setUp()
  at.wall += HOUR
  assert.equal(time.at(5_000), undefined)
  time.resume(NOON)
  pass(1_000)
  assert.deepEqual([time.now(), time.at(5_000)], [NOON + 1_000, NOON])
  time.heard(NOON, NOON - HOUR / 2)
  assert.equal(time.now(), NOON + 1_000)
  time.heard(NOON - HOUR, NOON - HOUR)
  pass(5_000)
  time.heard(NOON - HOUR + 5_000, NOON - HOUR + 5_000)
  assert.equal(time.now(), NOON - HOUR + 5_000)
})
