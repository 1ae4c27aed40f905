import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstPauseMs, parseSpan, pauseMs, spanText } from './spans.ts'

const hourMs = 3_600_000

test('a span is a whole number with a unit, and at most 14 days', () => {
  assert.deepEqual(['45s', '30m', '6h', '14d'].map(parseSpan), [45_000, 1_800_000, 6 * hourMs, 336 * hourMs])
  for (const text of ['', '6', 'h', '0h', '1.5h', '-1h', '6 h', '15d', '6H', '9999999d', '1e3s'])
    assert.equal(parseSpan(text), null, text)
  assert.deepEqual([900, 59_000, 90 * 60_000, 49 * hourMs].map(spanText), ['1 s', '59 s', '2 h', '2 d'])
})

test('after a restart the first backup comes when it is due, and at once when a clock was wrong', () => {
  const now = Date.UTC(2026, 0, 31)
  assert.equal(firstPauseMs(null, now, hourMs), 0)
  assert.equal(firstPauseMs(now - hourMs / 4, now, hourMs), (hourMs * 3) / 4)
  assert.equal(firstPauseMs(now - hourMs, now, hourMs), 0)
  assert.equal(firstPauseMs(now + 1, now, hourMs), 0)
})

test('a backup longer than the interval skips a time; a failed one is tried again soon', () => {
  const pause = (tookMs: number, hasFailed = false) => pauseMs({ everyMs: hourMs, tookMs, hasFailed })
  assert.equal(pause(60_000), hourMs - 60_000)
  assert.equal(pause(2.5 * hourMs), hourMs / 2)
  assert.equal(pause(60_000, true), 300_000)
  assert.equal(pause(hourMs - 1000, true), 1000)
})
