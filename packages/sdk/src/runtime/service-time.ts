import type { Clock } from './clock.ts'

/** How far a time may lie behind without being that of another clock: answers need time to arrive, and clocks drift. */
const SLACK_MS = 2_000
/**
 * A clock that lies behind is followed once this many answers have agreed on it for this long. Answers of a cache do not
 * agree, because their time stands still.
 */
const AGREED_MS = 5_000
const AGREED_TIMES = 3
/** Clocks behind that are observed at a time: several processes of the service may answer by turns. */
const BEHIND_MAX = 8

/**
 * The service's clock as this process knows it: `generated_at` of answers, advanced by the monotonic clock. The service sets
 * expiry by its clock, so expiry is judged by it too, and setting this machine's clock neither extends nor shortens the life
 * of a key. Before the first answer it is the time that an earlier process knew, or else this machine's. `Date` has no
 * effect: a proxy may write its own.
 */
export class ServiceTime {
  readonly #clock: Clock
  #offset: number | undefined
  /** Clocks behind ours that answers show, and the newest time of them all. */
  #behind: { offset: number; since: number; times: number }[] = []
  #newestBehind = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Milliseconds since the epoch; behind the service by at most the travel time of an answer.
   * @param monotonic the clock's reading if the caller has one; reading it takes a tenth of a verification
   */
  now(monotonic = this.#clock.monotonic()): number {
    return this.#offset === undefined ? this.#clock.wall() : monotonic + this.#offset
  }

  /** Reads the time of an answer that has just arrived. */
  observe(generatedAt: number): void {
    const monotonic = this.#clock.monotonic()
    const offset = generatedAt - monotonic
    if (this.#offset === undefined || offset > this.#offset) this.#offset = offset
    if (offset < this.#offset - SLACK_MS) this.#observeBehind(generatedAt, offset, monotonic)
    else this.#agree()
  }

  /**
   * Only answers that are newer than all others from behind count, however many caches stand still at different times.
   * Otherwise expired keys would work again.
   */
  #observeBehind(generatedAt: number, offset: number, monotonic: number): void {
    if (generatedAt <= this.#newestBehind) return
    this.#newestBehind = generatedAt
    const known = this.#behind.find(each => Math.abs(offset - each.offset) <= SLACK_MS)
    if (known === undefined) {
      if (this.#behind.length === BEHIND_MAX) this.#behind.shift()
      this.#behind.push({ offset, since: monotonic, times: 1 })
      return
    }
    known.offset = Math.max(known.offset, offset)
    if (++known.times < AGREED_TIMES || monotonic - known.since < AGREED_MS) return
    this.#offset = known.offset
    this.#agree()
  }

  #agree(): void {
    this.#behind = []
    this.#newestBehind = Number.NEGATIVE_INFINITY
  }

  /**
   * Reads the time of an answer, and returns when it was given on the monotonic clock: when it was generated, and no later
   * than when it was asked for.
   */
  answered({ generatedAt, sentAt }: { generatedAt: number; sentAt: number }): number {
    this.observe(generatedAt)
    return Math.min(sentAt, generatedAt - (this.#offset ?? 0))
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
