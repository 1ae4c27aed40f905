import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  delayAfter,
  delayAfterError,
  FLOOR_MS,
  firstDelay,
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
  reseeds: 0,
  stuck: 0,
  mostMs: 30_000,
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
    reseeds: fc.nat(3),
    stuck: fc.constant(0),
    mostMs: fc.constant(30_000),
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

/**
 * Ten thousand nodes on one clock. The service answers some requests a second and turns the others away.
 *
 * @returns requests in each tenth of a second, and when the last node had its answer
 */
function restart({ warm, perSecond }: { warm: boolean; perSecond: number }) {
  const random = seeded(1)
  const nodes = Array.from({ length: 10_000 }, () => ({
    at: warm ? firstDelay(interval, random) : 0,
    failures: 0,
    answers: 0,
  }))
  const requests: number[] = []
  let waiting = nodes.length
  let readyAt = 0
  for (let tick = 0; tick < 1_200; tick++) {
    const [from, to] = [tick * 100, tick * 100 + 100]
    let room = perSecond / 10
    let asked = 0
    for (const node of nodes) {
      while (node.at >= from && node.at < to) {
        asked++
        if (room > 0) {
          room--
          if (node.answers === 0) {
            readyAt = node.at
            waiting--
          }
          const [first, unphased] = [!warm && node.answers === 0, !warm && node.answers === 1]
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

/** Numbers from 0 up to 1 that are the same in every run. */
function seeded(state: number): () => number {
  let last = state
  return () => {
    last = (last * 48_271) % 2_147_483_647
    return last / 2_147_483_647
  }
}

test('ten thousand nodes that start cold together spread, and all are served by a service of 2,500 requests a second', () => {
  const { requests, readyAt, waiting } = restart({ warm: false, perSecond: 2_500 })
  assert.equal(waiting, 0)
  assert.ok(readyAt < 30_000, `the last was ready after ${readyAt} ms`)
  // Of a fleet that polls evenly a tenth of a second has 210 requests. Only the first one has them all.
  assert.equal(requests[0], 10_000)
  const afterwards = requests.slice(15)
  assert.ok(Math.max(...afterwards) < 1_000, `${Math.max(...afterwards)} in a tenth of a second`)
  const steady = requests.slice(600)
  assert.ok(Math.max(...steady) < 300, `${Math.max(...steady)} in a tenth of a second, a minute later`)
})

test('ten thousand nodes that start from their disks together ask at no time more than twice as often as ever', () => {
  const { requests, waiting } = restart({ warm: true, perSecond: 3_500 })
  assert.equal(waiting, 0)
  assert.ok(Math.max(...requests) < 420, `${Math.max(...requests)} in a tenth of a second`)
})

test('snapshots in a row are an interval apart, and further where the version does not rise, within the life of keys', () => {
  const reseeded: Polled = { ...polled, outcome: 'snapshot', waits: true, more: true, reseeds: 1, stuck: 1 }
  const delays = [1, 2, 3, 4, 5, 40].map(times =>
    delayAfter({ ...reseeded, reseeds: times, stuck: times }, interval, most),
  )
  assert.deepEqual(delays.map(Math.round), [FLOOR_MS, 10_000, 20_000, 30_000, 30_000, 30_000])
  assert.equal(Math.round(delayAfter({ ...reseeded, reseeds: 9, stuck: 0 }, interval, most)), interval)
  assert.equal(Math.round(delayAfter({ ...reseeded, reseeds: 9, stuck: 9 }, 40_000, most)), 40_000)
})
