import type { Clock } from './clock.ts'

/** What an answer says may lie this far behind: `Date` has whole seconds, and every answer was on its way. */
const SLACK_MS = 2_000

/**
 * The service's clock as this process knows it: what answers said, carried on by a clock that is never set. The
 * service wrote the expiry of its keys by its own clock, so that one judges them, and however the clock of this
 * machine is set or stepped, no key lives longer or dies sooner. Before the first answer there is what an earlier
 * process knew, and without that only the machine's.
 */
export class ServiceTime {
  readonly #clock: Clock
  #offset: number | undefined

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
   * counts. It is set back only by a date, and where the service was by more than answers are late.
   *
   * @param generatedAt of the body, if there was one
   * @param date of the answer, if it has one
   */
  heard(generatedAt = Number.NEGATIVE_INFINITY, date?: number): void {
    const at = Math.max(generatedAt, date ?? Number.NEGATIVE_INFINITY)
    if (at === Number.NEGATIVE_INFINITY) return
    const ahead = at - this.now()
    const isBehind = date !== undefined && ahead < -SLACK_MS
    if (this.#offset === undefined || ahead > 0 || isBehind) this.#offset = at - this.#clock.monotonic()
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
