import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bootstrapInterval, median, percentile, percentileOfSorted, spread } from './statistics.ts'

const sample = fc.double({ min: 1e-3, max: 1e6, noNaN: true })
const samples = fc.array(sample, { minLength: 1, maxLength: 40 })
const share = fc.double({ min: 0, max: 1, noNaN: true })

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 3, 2]), 2.5)
  assert.equal(median([7]), 7)
})

test('percentiles are linear between ranks, as in NumPy', () => {
  const values = [10, 20, 30, 40, 50]
  assert.equal(percentile(values, 0), 10)
  assert.equal(percentile(values, 0.25), 20)
  assert.equal(percentile(values, 0.1), 14)
  assert.equal(percentile(values, 1), 50)
})

test('no sample gives NaN, and a share outside 0 to 1 is refused', () => {
  assert.ok(Number.isNaN(median([])))
  assert.throws(() => percentile([1], 1.01), RangeError)
  assert.throws(() => percentile([1], Number.NaN), RangeError)
})

test('a percentile lies within the samples, grows with its share and ignores order', () => {
  fc.assert(
    fc.property(samples, share, share, (values, one, other) => {
      const [low, high] = one < other ? [one, other] : [other, one]
      assert.ok(percentile(values, low) <= percentile(values, high) * (1 + 1e-12))
      assert.ok(percentile(values, low) >= Math.min(...values))
      assert.ok(percentile(values, high) <= Math.max(...values) * (1 + 1e-12))
      assert.equal(percentile(values.toReversed(), one), percentile(values, one))
      assert.equal(percentileOfSorted(Float64Array.from(values).sort(), one), percentile(values, one))
    }),
  )
})

test('at least half of the samples are no larger than the median, and half no smaller', () => {
  fc.assert(
    fc.property(samples, values => {
      const middle = median(values)
      const slack = 1e-9 * middle
      assert.ok(values.filter(value => value <= middle + slack).length * 2 >= values.length)
      assert.ok(values.filter(value => value >= middle - slack).length * 2 >= values.length)
    }),
  )
})

test('spread is the range without the outer tenths over the median, in any unit', () => {
  assert.equal(spread([80, 90, 95, 98, 100, 100, 100, 102, 105, 110, 180]), 0.2)
  assert.equal(spread([5, 5, 5]), 0)
  assert.equal(spread([0, 0]), 0)
  assert.equal(spread([0, 0, 1]), Number.POSITIVE_INFINITY)
  fc.assert(
    fc.property(samples, values => {
      assert.ok(spread(values) >= 0)
      // A power of two scales without rounding.
      assert.equal(spread(values.map(value => value * 1024)), spread(values))
    }),
  )
})

test('the interval lies within the samples, repeats with its seed, and ignores order', () => {
  fc.assert(
    fc.property(samples, fc.integer(), (values, seed) => {
      const options = { seed, resamples: 200 }
      const { low, high } = bootstrapInterval(values, options)
      assert.ok(low <= high)
      assert.ok(low >= Math.min(...values))
      assert.ok(high <= Math.max(...values) * (1 + 1e-12))
      assert.deepEqual(bootstrapInterval(values.toReversed(), options), { low, high })
    }),
  )
})

test('equal samples give an interval of no width, and another seed another interval', () => {
  assert.deepEqual(bootstrapInterval([2, 2, 2]), { low: 2, high: 2 })
  const spreadOut = Array.from({ length: 31 }, (_, index) => index ** 2)
  const intervals = [1, 2, 3, 4, 5].map(seed => bootstrapInterval(spreadOut, { seed, resamples: 50 }))
  assert.ok(new Set(intervals.map(({ low, high }) => `${low} ${high}`)).size > 1)
})

test('less confidence never widens the interval', () => {
  fc.assert(
    fc.property(samples, values => {
      const wide = bootstrapInterval(values, { confidence: 0.95, resamples: 200 })
      const narrow = bootstrapInterval(values, { confidence: 0.5, resamples: 200 })
      assert.ok(narrow.low >= wide.low && narrow.high <= wide.high)
    }),
  )
})

test('about 95 of 100 intervals hold the true median', () => {
  // A fixed sequence (minimal standard generator), so that this test sees the same draws every time.
  let state = 1
  const uniform = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const held = Array.from({ length: 400 }, () => {
    const { low, high } = bootstrapInterval(Array.from({ length: 10 }, uniform), { resamples: 400 })
    return low <= 0.5 && 0.5 <= high
  }).filter(Boolean).length
  assert.ok(held >= 0.9 * 400 && held < 400, `${held} of 400`)
})
