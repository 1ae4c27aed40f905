import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { delayAfterError, FLOOR_MS, readRetryAfter } from '../http/schedule.ts'
import { delayAfter, type Polled, waitSeconds } from './pace.ts'

const polled: Polled = {
  outcome: 'unchanged',
  waits: false,
  more: false,
  first: false,
  unphased: false,
  reseeds: 0,
  stuck: 0,
  cutToMs: Number.POSITIVE_INFINITY,
  lifeMs: 60_000,
  tookMs: 0,
}
const interval = 5_000
const [least, most] = [() => 0, () => 0.999_999]

test('without long polling the next request starts 0.9 to 1 interval after the last one', () => {
  for (const outcome of ['unchanged', 'delta', 'snapshot'] as const) {
    for (const tookMs of [0, 40, 4_000]) {
      const result = { ...polled, outcome, tookMs }
      assert.equal(tookMs + delayAfter(result, interval, least), 4_500)
      assert.ok(tookMs + delayAfter(result, interval, most) <= interval)
    }
  }
})

test('no two requests begin less than the floor apart', () => {
  const result = fc.record({
    outcome: fc.constantFrom('snapshot', 'delta', 'unchanged'),
    waits: fc.boolean(),
    more: fc.boolean(),
    first: fc.boolean(),
    unphased: fc.boolean(),
    reseeds: fc.nat(3),
    stuck: fc.constant(0),
    cutToMs: fc.constantFrom(1_000, 10_000, Number.POSITIVE_INFINITY),
    lifeMs: fc.integer({ min: -60_000, max: 60_000 }),
    tookMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
  })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const intervals = fc.integer({ min: 100, max: 60_000 })
  fc.assert(
    fc.property(result, random, intervals, (each, chance, pollIntervalMs) => {
      const delay = delayAfter(each, pollIntervalMs, () => chance)
      assert.ok(delay >= 0 && each.tookMs + delay >= FLOOR_MS)
      assert.ok(delay <= Math.max(FLOOR_MS, pollIntervalMs))
      if (each.lifeMs > 0) assert.ok(delay <= Math.max(500, each.lifeMs / 2))
    }),
  )
})

test('the next poll is immediate after a held answer, and after several pages', () => {
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

test('a service that falsely claims to hold answers is polled at the interval', () => {
  assert.equal(delayAfter({ ...polled, waits: true, tookMs: 20 }, interval, least), 4_480)
})

test('the poll after the first snapshot is immediate, since the service may hold its answer', () => {
  assert.equal(delayAfter({ ...polled, outcome: 'snapshot', first: true }, interval, most), FLOOR_MS)
})

test('the first interval after an answer that is not held is cut at random', () => {
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

test('Retry-After is honoured, in seconds or as a date, up to 30 s', () => {
  assert.equal(delayAfterError({ failures: 1, retryAfterMs: 7_000 }, interval, least), 7_000)
  assert.equal(delayAfterError({ failures: 1, retryAfterMs: 3_600_000 }, interval, least), 30_000)
  const now = Date.parse('2027-01-01T00:00:00Z')
  assert.equal(readRetryAfter('7', now), 7_000)
  assert.equal(readRetryAfter('Fri, 01 Jan 2027 00:00:09 GMT', now), 9_000)
  assert.equal(readRetryAfter('Fri, 01 Jan 2026 00:00:09 GMT', now), 0)
  assert.equal(readRetryAfter('soon', now), undefined)
  assert.equal(readRetryAfter(null, now), undefined)
})

test('no delay after an error is longer than half of the life that is left', () => {
  const delay = (lifeMs: number, retryAfterMs = 30_000) =>
    delayAfterError({ failures: 9, retryAfterMs, lifeMs }, interval, most)
  assert.deepEqual(
    [60_000, 35_000, 8_000, 1_000, 1].map(life => delay(life)),
    [30_000, 17_500, 4_000, 500, 500],
  )
  assert.equal(delay(4_000, 0), 2_000)
  assert.equal(delay(0), interval, 'stale keys are worth an attempt each interval')
})

test('holds that were cut to less than the interval do not add polls', () => {
  const held: Polled = { ...polled, waits: true, cutToMs: 2_000, tookMs: 2_000 }
  assert.equal(delayAfter(held, interval, least), 2_500)
  assert.equal(delayAfter({ ...held, cutToMs: 5_000, tookMs: 5_000 }, interval, least), 0)
})

test('a held request ends within half of the life that is left, even without an answer', () => {
  assert.equal(waitSeconds(60_000), 25)
  assert.equal(waitSeconds(86_400_000), 25)
  assert.equal(waitSeconds(20_000), 5)
  assert.equal(waitSeconds(11_000), 0)
  assert.equal(waitSeconds(100), 0)
})

/**
 * Simulates ten thousand nodes on one clock. The service answers a number of requests per second and rejects the others.
 *
 * @returns requests in each tenth of a second, and when the last node got its answer
 */
function restart({ warm, perSecond }: { warm: boolean; perSecond: number }) {
  const random = seeded(1)
  const nodes = Array.from({ length: 10_000 }, () => ({
    at: 0,
    failures: 0,
    answers: 0,
  }))
  const requests: number[] = []
  let waiting = nodes.length
  let readyAt = 0
  for (let tick = 0; tick < 1_200; tick++) {
    const [from, to] = [tick * 100, tick * 100 + 100]
    let capacity = perSecond / 10
    let asked = 0
    for (const node of nodes) {
      while (node.at >= from && node.at < to) {
        asked++
        if (capacity > 0) {
          capacity--
          if (node.answers === 0) {
            readyAt = node.at
            waiting--
          }
          const [first, unphased] = [!warm && node.answers === 0, node.answers === (warm ? 0 : 1)]
          Object.assign(node, { answers: node.answers + 1, failures: 0 })
          node.at += delayAfter({ ...polled, first, unphased }, interval, random)
        } else {
          node.failures++
          node.at += delayAfterError({ failures: node.failures }, interval, random)
        }
      }
    }
    requests.push(asked)
  }
  return { requests, readyAt, waiting }
}

/** Pseudorandom numbers from 0 to below 1, the same in every run. */
function seeded(state: number): () => number {
  let last = state
  return () => {
    last = (last * 48_271) % 2_147_483_647
    return last / 2_147_483_647
  }
}

test('10,000 nodes that start cold together spread out, and 2,500 requests a second serve them', () => {
  const { requests, readyAt, waiting } = restart({ warm: false, perSecond: 2_500 })
  assert.equal(waiting, 0)
  assert.ok(readyAt < 30_000, `the last node was ready after ${readyAt} ms`)
  // A fleet that polls evenly sends 210 requests in a tenth of a second. Only the first tenth has them all.
  assert.equal(requests[0], 10_000)
  const afterwards = requests.slice(15)
  assert.ok(Math.max(...afterwards) < 1_000, `${Math.max(...afterwards)} in a tenth of a second`)
  const steady = requests.slice(600)
  assert.ok(Math.max(...steady) < 300, `${Math.max(...steady)} in a tenth of a second, a minute later`)
})

test('10,000 nodes that start from disk together poll once together, and then spread out', () => {
  const [warm, cold] = [true, false].map(each => restart({ warm: each, perSecond: 3_500 }))
  assert.ok(warm && cold)
  assert.equal(warm.waiting, 0)
  assert.equal(warm.requests[0], 10_000)
  assert.ok(warm.readyAt <= cold.readyAt, `${warm.readyAt} ms, and cold ${cold.readyAt} ms`)
  const steady = warm.requests.slice(300)
  assert.ok(Math.max(...steady) < 420, `${Math.max(...steady)} in a tenth of a second`)
})

test('repeated snapshots are an interval apart, or more if the version does not rise', () => {
  const reseeded: Polled = { ...polled, outcome: 'snapshot', waits: true, more: true, reseeds: 1, stuck: 1 }
  const delays = [1, 2, 3, 4, 5, 40].map(times =>
    delayAfter({ ...reseeded, reseeds: times, stuck: times }, interval, most),
  )
  assert.deepEqual(delays.map(Math.round), [FLOOR_MS, 10_000, 20_000, 30_000, 30_000, 30_000])
  assert.equal(Math.round(delayAfter({ ...reseeded, reseeds: 9, stuck: 0 }, interval, most)), interval)
  assert.equal(Math.round(delayAfter({ ...reseeded, reseeds: 9, stuck: 9 }, 40_000, most)), 30_000)
})
