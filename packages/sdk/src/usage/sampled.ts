/** For more requests than this, drawing for each request would differ little from the mean. */
const DRAWN_MAX = 10_000

/** @returns how many of the requests to count, on average `rate` of them */
export function sampled(requests: number, rate: number, random: () => number): number {
  if (requests > DRAWN_MAX) return Math.floor(requests * rate + random())
  let counted = 0
  for (let request = 0; request < requests; request++) if (random() < rate) counted++
  return counted
}

/**
 * @returns the rate; 1 if none is given
 * @throws TypeError
 */
export function readSampleRate(rate: unknown = 1): number {
  if (typeof rate !== 'number' || !(rate >= 0.0001 && rate <= 1)) {
    throw new TypeError('sampleRate must be a number from 0.0001 to 1')
  }
  return rate
}
