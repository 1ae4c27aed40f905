import type { KeyrailError } from '../runtime/errors.ts'
import { cachedAnswer, dateBack } from './odd.ts'

/** `Date` has whole seconds, and answers of several processes may overtake each other. */
const SLACK_MS = 2_000
/** Older than this an answer is told of. */
const LATE_MS = 5_000

/** Finds out from the `Date` of one answer after the other what is wrong with them. */
export class Dates {
  #last = Number.NEGATIVE_INFINITY
  #isLate = false

  /**
   * @param sentAt when the answer was asked for, and `answeredAt` when it was given, by the service's clock
   * @returns what is to be told; of a cache once, until an answer is in time again
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
