import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { Check, Tally } from './fold.ts'

/**
 * How many counters of one subject are kept. A caller that checks more rules within their windows loses the counts that end
 * first.
 */
export const mostCounters = 256

/**
 * A counter is kept for this long after it has ended, because the clock of a promoted replica may differ from its master's, and
 * a clock may be set back.
 */
export const graceMs = 10_000

/** Keeps counters. Every implementation decides and charges a check in one step, by the store's own clock. */
export interface CounterStore {
  /**
   * @throws {Refusal} `unavailable` when the store does not answer in time. The check may have been charged.
   *   `counter_limit_reached` when the check needs a new counter for which the workspace has no space.
   */
  check(check: Check, deadline?: Pick<Deadline, 'at'>): Promise<Tally>
  /** The part of its limit that the fullest project has used. */
  nearestToLimit(): number
  /** The used part of the memory of the fullest server; null: unknown. Absent where counters are in Postgres. */
  readMemory?(): Promise<number | null>
  close(): Promise<void>
}
