import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awakeNow } from './awake-now.ts'

/** Two clocks that a test sets. */
function clocks() {
  const time = { monotonic: 1_000, wall: 1_700_000_000_000 }
  const now = awakeNow(
    () => time.monotonic,
    () => time.wall,
  )
  const pass = (milliseconds: number) => {
    time.monotonic += milliseconds
    time.wall += milliseconds
  }
  return { time, now, pass }
}

test('time passes as on the monotonic clock, also if the other is a little off', () => {
  const { time, now, pass } = clocks()
  for (let n = 0; n < 1_000; n++) {
    pass(10)
    time.wall += n % 2 === 0 ? 1 : -1
    assert.equal(now(), time.monotonic)
  }
})

test('time in which the process was suspended has passed', () => {
  const { time, now, pass } = clocks()
  time.wall += 60_000
  assert.equal(now(), 61_000)
  pass(500)
  time.wall += 5_000
  assert.equal(now(), 66_500)
})

test('a clock that is set back takes no time away, and later suspensions count', () => {
  const { time, now, pass } = clocks()
  time.wall -= 3_600_000
  pass(100)
  assert.equal(now(), 1_100)
  time.wall += 60_000
  assert.equal(now(), 61_100)
})
