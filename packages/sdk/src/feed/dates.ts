import type { KeyrailError } from '../runtime/errors.ts'
import { cachedAnswer, dateBack } from './odd.ts'
import type { AnswerTimes } from './sync-deps.ts'

/** Answers of several processes may arrive out of order. */
const SLACK_MS = 2_000
/** An answer older than this confirms too little. */
export const LATE_MS = 5_000
/** What was reported is reported again only after an answer in order, this long after the last odd one. */
const QUIET_MS = 60_000

/** Compares the times of successive answers, to report caches and clocks that were set back. */
export class Dates {
  #last = Number.NEGATIVE_INFINITY
  #oddAt = Number.NEGATIVE_INFINITY
  #isTold = false

  /**
   * @param answeredAt when the answer was given
   * @returns an error to report
   */
  odd(times: AnswerTimes, answeredAt: number): KeyrailError | undefined {
    const { generatedAt, sentAt } = times
    const backMs = this.#last - generatedAt
    this.#last = generatedAt
    const lateMs = sentAt - answeredAt
    if (backMs <= SLACK_MS && lateMs <= LATE_MS) {
      if (sentAt - this.#oddAt >= QUIET_MS) this.#isTold = false
      return undefined
    }
    this.#oddAt = sentAt
    if (this.#isTold) return undefined
    this.#isTold = true
    return backMs > SLACK_MS ? dateBack(backMs) : cachedAnswer(lateMs, hintOf(times))
  }
}

/** These headers prove nothing, but they hint at a proxy or cache between node and service. */
function hintOf({ generatedAt, date, ageSeconds }: AnswerTimes): string {
  if (ageSeconds > 0) return `, and its Age is ${ageSeconds} s`
  return date !== undefined && date - generatedAt > LATE_MS ? ', although something gave it a newer Date' : ''
}
