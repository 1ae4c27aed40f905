import type { Clock } from './clock.ts'

/** What an answer says may lie this far behind: `Date` has whole seconds, and every answer was on its way. */
const SLACK_MS = 2_000
/**
 * A service whose clock was set back is followed when its answers have agreed for so long. The date of a cache that has
 * frozen falls behind by as much meanwhile, which is more than the slack.
 */
const AGREED_MS = 5_000

/**
 * The service's clock as this process knows it: what answers said, carried on by a clock that is never set. The
 * service wrote the expiry of its keys by its own clock, so that one judges them, and however the clock of this
 * machine is set or stepped, no key lives longer or dies sooner. Before the first answer there is what an earlier
 * process knew, and without that only the machine's.
 */
export class ServiceTime {
  readonly #clock: Clock
  #offset: number | undefined
  /** A time before ours that answers tell, and since when. */
  #behind: { offset: number; since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Milliseconds since the epoch. Behind the service by a second and an answer's way here, at most.
   * @param monotonic the reading of that clock, for who has made one: it is a tenth of a verification
   */
  now(monotonic = this.#clock.monotonic()): number {
    return this.#offset === undefined ? this.#clock.wall() : monotonic + this.#offset
  }

  /**
   * Takes in what an answer that came just now tells of the time. The service was there when it generated the body,
   * and when it dated the answer; a body may be given to many long after it was generated, so the later of both
   * counts. It is set back only by dates that lie behind for `AGREED_MS` by the same time: a cache may give an old
   * answer, and then expired keys must not work again.
   *
   * @param generatedAt of the body, if there was one
   * @param date of the answer, if it has one
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

  /** When an answer was given, by its date, on the other clock: never later than it was asked for. */
  answeredAt(sentAt: number, date: number | undefined): number {
    if (date === undefined || this.#offset === undefined) return sentAt
    const at = date - this.#offset
    return at < sentAt - SLACK_MS ? at : sentAt
  }

  /** Takes in what an answer tells, and says when it was given. */
  answered(told: { generatedAt: number | undefined; date: number | undefined; sentAt: number }): number {
    this.heard(told.generatedAt, told.date)
    return this.answeredAt(told.sentAt, told.date)
  }

  get isKnown(): boolean {
    return this.#offset !== undefined
  }

  /** The time at a reading of the other clock; undefined where the service has told none. */
  at(monotonic: number): number | undefined {
    return this.#offset === undefined ? undefined : monotonic + this.#offset
  }

  /** Goes on from what an earlier process knew. */
  resume(now: number): void {
    this.#offset = now - this.#clock.monotonic()
  }
}
