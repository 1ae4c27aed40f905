import type { Check, Tally } from './fold.ts'

/**
 * Counters that are kept of a subject. A caller who asks about more of them for one subject, which takes as many rules in
 * the span of their windows, is forgiven those that end first.
 */
export const mostCounters = 256

/**
 * A counter is kept for so much longer than it counts: clocks of a master and of the replica that takes over differ,
 * and one may be set back.
 */
export const graceMs = 10_000

/** Where counters stand. Whichever it is, a check is decided and charged as one step, by the store's own clock. */
export interface CounterStore {
  /**
   * @param until when the caller must be answered, on the clock of `performance.now()`.
   * @throws {Refusal} `unavailable` when the store does not answer in time. The check may have been charged.
   *   `counter_limit_reached` when it needs a new counter, for which the workspace has no room.
   */
  check(check: Check, until?: number): Promise<Tally>
  /** How near the workspace with most rows of counters is to the limit, where they are counted. */
  nearestToLimit?(): number
  /** Checks that wait for the store. */
  depth(): number
  close(): Promise<void>
}
