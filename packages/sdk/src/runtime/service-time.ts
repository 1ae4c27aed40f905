import type { Clock } from './clock.ts'

/** How far a time in an answer may lie behind: `Date` has whole seconds, and every answer needs time to arrive. */
const SLACK_MS = 2_000
/**
 * When the service's clock was set back, it is followed once its answers have agreed for this long. The `Date` of a stale
 * cache does not advance, so it falls behind by more than the slack meanwhile.
 */
const AGREED_MS = 5_000

/**
 * The service's clock as this process knows it: the times in answers, advanced by the monotonic clock. The service sets
 * expiry by its clock, so expiry is judged by it too, and setting this machine's clock neither extends nor shortens the life
 * of a key. Before the first answer it is the time that an earlier process knew, or else this machine's.
 */
export class ServiceTime {
  readonly #clock: Clock
  #offset: number | undefined
  /** A time before ours that answers give, and since when they do. */
  #behind: { offset: number; since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Milliseconds since the epoch; behind the service by at most a second and the travel time of an answer.
   * @param monotonic the clock's reading if the caller has one; reading it takes a tenth of a verification
   */
  now(monotonic = this.#clock.monotonic()): number {
    return this.#offset === undefined ? this.#clock.wall() : monotonic + this.#offset
  }

  /**
   * Reads the times of an answer that has just arrived. The service was alive when it generated the body and when it dated
   * the answer. A body may be sent long after it was generated, so the later time counts. The clock goes back only if dates
   * lie behind by the same time for `AGREED_MS`: a cache may return an old answer, and expired keys must not work again.
   *
   * @param generatedAt of the body, if any
   * @param date of the answer, if any
   */
  heard(generatedAt = Number.NEGATIVE_INFINITY, date?: number): void {
    const at = Math.max(generatedAt, date ?? Number.NEGATIVE_INFINITY)
    if (at === Number.NEGATIVE_INFINITY) return
    const monotonic = this.#clock.monotonic()
    const offset = at - monotonic
    const ahead = at - this.now(monotonic)
    if (this.#offset === undefined || ahead > 0) this.#offset = offset
    if (date === undefined) return
    if (ahead >= -SLACK_MS) {
      this.#behind = undefined
    } else if (this.#behind === undefined || Math.abs(offset - this.#behind.offset) > SLACK_MS) {
      this.#behind = { offset, since: monotonic }
    } else if (monotonic - this.#behind.since >= AGREED_MS) {
      this.#offset = offset
      this.#behind = undefined
    }
  }

  /** When an answer was given, by its date, on the monotonic clock. Never later than `sentAt`. */
  answeredAt(sentAt: number, date: number | undefined): number {
    if (date === undefined || this.#offset === undefined) return sentAt
    const at = date - this.#offset
    return at < sentAt - SLACK_MS ? at : sentAt
  }

  /** Reads the times of an answer, and returns when it was given. */
  answered(times: { generatedAt: number | undefined; date: number | undefined; sentAt: number }): number {
    this.heard(times.generatedAt, times.date)
    return this.answeredAt(times.sentAt, times.date)
  }

  get isKnown(): boolean {
    return this.#offset !== undefined
  }

  /** The service's time at a reading of the monotonic clock; undefined if unknown. */
  at(monotonic: number): number | undefined {
    return this.#offset === undefined ? undefined : monotonic + this.#offset
  }

  /** Continues from the time that an earlier process knew. */
  resume(now: number): void {
    this.#offset = now - this.#clock.monotonic()
  }
}
