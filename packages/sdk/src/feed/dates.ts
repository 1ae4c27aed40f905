import type { KeyrailError } from '../runtime/errors.ts'
import { cachedAnswer, dateBack } from './odd.ts'

/** `Date` has whole seconds, and answers of several processes may arrive out of order. */
const SLACK_MS = 2_000
/** An answer older than this is reported. */
const LATE_MS = 5_000

/** Compares the `Date` of successive answers to detect caches and clocks that were set back. */
export class Dates {
  #last = Number.NEGATIVE_INFINITY
  #isLate = false

  /**
   * @param sentAt when the request was sent, and `answeredAt` when the answer was given, by the service's clock
   * @returns an error to report; for a cache only the first, until an answer is recent again
   */
  odd(date: number | undefined, sentAt: number, answeredAt: number): KeyrailError | undefined {
    if (date === undefined) return undefined
    const backMs = this.#last - date
    this.#last = date
    const wasLate = this.#isLate
    this.#isLate = answeredAt < sentAt - LATE_MS
    if (backMs > SLACK_MS) return dateBack(backMs)
    if (!this.#isLate || wasLate) return undefined
    return cachedAnswer(`its Date was ${Math.round((sentAt - answeredAt) / 1_000)} s ago`)
  }
}
