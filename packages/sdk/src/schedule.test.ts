import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  delayAfter,
  delayAfterError,
  FLOOR_MS,
  type Polled,
  readRetryAfter,
  waitSeconds,
} from './schedule.ts'

const polled: Polled = {
  outcome: 'unchanged',
  waits: false,
  more: false,
  first: false,
  unphased: false,
  tookMs: 0,
}
const interval = 5_000
const [least, most] = [() => 0, () => 0.999_999]

test('without long polling the next request starts 0.9 to 1 interval after the last one, never later', () => {
  for (const outcome of ['unchanged', 'delta', 'snapshot'] as const) {
    for (const tookMs of [0, 40, 4_000]) {
      const result = { ...polled, outcome, tookMs }
      assert.equal(tookMs + delayAfter(result, interval, least), 4_500)
      assert.ok(tookMs + delayAfter(result, interval, most) <= interval)
    }
  }
})

test('no two requests begin less than the floor apart, whatever happens', () => {
  const result = fc.record({
    outcome: fc.constantFrom('snapshot', 'delta', 'unchanged'),
    waits: fc.boolean(),
    more: fc.boolean(),
    first: fc.boolean(),
    unphased: fc.boolean(),
    tookMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
  })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const intervals = fc.integer({ min: 100, max: 60_000 })
  fc.assert(
    fc.property(result, random, intervals, (each, chance, pollIntervalMs) => {
      const delay = delayAfter(each, pollIntervalMs, () => chance)
      assert.ok(delay >= 0 && each.tookMs + delay >= FLOOR_MS)
      assert.ok(delay <= Math.max(FLOOR_MS, pollIntervalMs))
    }),
  )
})

test('a service that holds its answers is asked again at once, and after several pages any service is', () => {
  assert.equal(delayAfter({ ...polled, waits: true, tookMs: 25_000 }, interval, most), 0)
  assert.equal(
    delayAfter({ ...polled, waits: true, outcome: 'delta', tookMs: 10 }, interval, most),
    FLOOR_MS - 10,
  )
  assert.equal(
    delayAfter({ ...polled, outcome: 'snapshot', first: true, more: true }, interval, most),
    FLOOR_MS,
  )
})

test('a service that says it holds answers and does not is polled at the interval', () => {
  assert.equal(delayAfter({ ...polled, waits: true, tookMs: 20 }, interval, least), 4_480)
})

test('after the first snapshot the service is asked at once, since it may hold its answer', () => {
  assert.equal(delayAfter({ ...polled, outcome: 'snapshot', first: true }, interval, most), FLOOR_MS)
})

test('the first interval after an answer that is not held falls anywhere within it', () => {
  const unphased: Polled = { ...polled, unphased: true }
  assert.equal(
    delayAfter(unphased, interval, () => 0.5),
    interval / 2,
  )
  assert.equal(delayAfter(unphased, interval, least), FLOOR_MS)
})

test('errors back off with full jitter, up to one interval', () => {
  const longest = [1, 2, 3, 4, 5, 50].map(failures =>
    Math.round(delayAfterError({ failures }, interval, most)),
  )
  assert.deepEqual(longest, [500, 1_000, 2_000, 4_000, 5_000, 5_000])
  assert.equal(delayAfterError({ failures: 5 }, interval, least), FLOOR_MS)
})

test('Retry-After is obeyed, in seconds or as a date, up to 30 s', () => {
  assert.equal(delayAfterError({ failures: 1, retryAfterMs: 7_000 }, interval, least), 7_000)
  assert.equal(delayAfterError({ failures: 1, retryAfterMs: 3_600_000 }, interval, least), 30_000)
  const now = Date.parse('2027-01-01T00:00:00Z')
  assert.equal(readRetryAfter('7', now), 7_000)
  assert.equal(readRetryAfter('Fri, 01 Jan 2027 00:00:09 GMT', now), 9_000)
  assert.equal(readRetryAfter('Fri, 01 Jan 2026 00:00:09 GMT', now), 0)
  assert.equal(readRetryAfter('soon', now), undefined)
  assert.equal(readRetryAfter(null, now), undefined)
})

test('two held answers in a row fit into the life of a record, with time to spare', () => {
  assert.equal(waitSeconds(60_000), 25)
  assert.equal(waitSeconds(86_400_000), 25)
  assert.equal(waitSeconds(20_000), 5)
  assert.equal(waitSeconds(11_000), 0)
  assert.equal(waitSeconds(100), 0)
})
