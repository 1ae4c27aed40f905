import { setTimeout } from 'node:timers/promises'

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

/** Waits that end early, without an error, when the service closes. */
export const sleepUnless =
  (closing: AbortSignal) =>
  (milliseconds: number): Promise<void> =>
    setTimeout(milliseconds, undefined, { signal: closing }).catch(() => {})
