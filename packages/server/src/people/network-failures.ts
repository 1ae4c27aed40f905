import type { Clock } from '../platform/clock.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import { Refusal } from '../platform/refusal.ts'

const windowMs = 60_000

/** Networks that are remembered, about 150 bytes each. */
const networksMax = 50_000

/** Counts the failures of a client's network, a minute at a time. */
export interface NetworkFailures {
  /**
   * Counts an attempt as failed before it is made, so that many attempts at once count too.
   * @returns a function that takes the count back, for an attempt that did not fail.
   * @throws {Refusal} `too_many_requests` when the minute is used up.
   */
  charge(network: string): () => void
}

/** @param perMinute null: nothing is counted. */
export function createNetworkFailures(perMinute: number | null, clock: Clock): NetworkFailures {
  if (perMinute === null) return { charge: () => () => {} }
  const windows = recentlyUsed<{ readonly until: number; failed: number }>(networksMax)
  return {
    charge(network) {
      const now = clock.monotonic()
      const known = windows.get(network)
      const window = known !== undefined && now < known.until ? known : { until: now + windowMs, failed: 0 }
      if (window !== known) windows.set(network, window)
      if (window.failed >= perMinute) {
        const seconds = Math.ceil((window.until - now) / 1_000)
        throw new Refusal('too_many_requests', 'Too many sign-ins from your network have failed.', {
          headers: { 'retry-after': String(seconds) },
        })
      }
      window.failed += 1
      return () => {
        window.failed -= 1
      }
    },
  }
}
