/** The statistics of a bench. Pure functions over samples; none of them changes its input. */

export type Interval = { low: number; high: number }

/** The middle value; for an even count, the mean of the two in the middle. NaN without samples. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/**
 * The value below which `share` (0 to 1) of the samples lie, linear between the two nearest ranks (type 7 of Hyndman
 * and Fan, as in spreadsheets and NumPy). NaN without samples.
 */
export function percentile(values: readonly number[], share: number): number {
  return percentileOfSorted(Float64Array.from(values).sort(), share)
}

/** The same for sorted samples: a run of requests has hundreds of thousands. */
export function percentileOfSorted(sorted: Float64Array, share: number): number {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`share must lie in 0 to 1, not ${share}`)
  const rank = (sorted.length - 1) * share
  const below = sorted[Math.floor(rank)] ?? Number.NaN
  const above = sorted[Math.ceil(rank)] ?? Number.NaN
  // Written so that equal neighbours give exactly that value, without a rounding error.
  return below + (above - below) * (rank - Math.floor(rank))
}

/**
 * How far apart the rounds of one arm lie: (90th - 10th percentile) / median. 0.15 means 15 %. The full range would
 * grow with the number of rounds, and so punish longer measurements. Infinity when the median is 0 and the samples
 * differ.
 */
export function spread(values: readonly number[]): number {
  const range = percentile(values, 0.9) - percentile(values, 0.1)
  return range === 0 ? 0 : range / Math.abs(median(values))
}

/**
 * Percentile bootstrap of the median: draws the samples again with replacement and takes the middle
 * `confidence` share of the medians. The same samples and seed always give the same interval.
 */
export function bootstrapInterval(
  values: readonly number[],
  { confidence = 0.95, resamples = 4_000, seed = 1 } = {},
): Interval {
  const random = seededRandom(seed)
  // Sorted first, so that the interval depends on the samples and not on their order.
  const samples = Float64Array.from(values).sort()
  const medians = Float64Array.from({ length: resamples }, () =>
    percentileOfSorted(
      samples.map(() => samples[Math.floor(random() * samples.length)] ?? Number.NaN).sort(),
      0.5,
    ),
  ).sort()
  const tail = (1 - confidence) / 2
  return { low: percentileOfSorted(medians, tail), high: percentileOfSorted(medians, 1 - tail) }
}

/**
 * The fewest rounds whose smallest and largest value enclose the true median with 95 % probability: n rounds do so with
 * 1 - 2^(1-n), and no bootstrap of them can be wider than that.
 */
export const ROUNDS_MIN = 6

/** mulberry32: 32 bits of state are ample for a few thousand resamples, and a seed makes them repeatable. */
function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
