/** The source of time, so that a test can control it. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. It may step; measure spans with `monotonic`. */
  now(): number
  /** Milliseconds from an arbitrary start; never steps back. */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}
