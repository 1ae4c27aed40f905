import type { Check, Tally } from './fold.ts'

/** Where counters stand. Whichever it is, a check is decided and charged as one step, by the store's own clock. */
export interface CounterStore {
  /**
   * @param until when the caller must be answered, on the clock of `performance.now()`.
   * @throws {Refusal} `unavailable` when the store does not answer in time. The check may have been charged.
   */
  check(check: Check, until?: number): Promise<Tally>
  /** Checks that wait for the store. */
  depth(): number
  close(): Promise<void>
}
