import { HELD_MS, WAIT_MAX_SECONDS, waitSeconds } from './pace.ts'

/** How long the hold stays as it is before it grows. Doubles with each hold that fails. */
const QUIET_MIN_MS = 60_000
const QUIET_MAX_MS = 3_600_000

/**
 * Decides for how long the service may hold each answer. A proxy may give up before the service answers, so after any
 * failure the next polls are plain until one succeeds, and then the hold is half as long as the hold that failed. Holds grow
 * slowly, and ever more slowly while they fail, because the proxy may be fixed by now or never was the cause.
 */
export class Hold {
  #mostSeconds = WAIT_MAX_SECONDS
  #growsAt = Number.POSITIVE_INFINITY
  /** The last poll failed. */
  #isPlain = false
  /** How many holds have failed since one lasted longer than the last that failed. */
  #failures = 0
  #failedAfterMs = 0
  #seconds = 0
  #askedAt = 0
  #tookMs: number | undefined

  /**
   * @param lifeMs for which the keys will be served, from `now`; 0 or less if they are not confirmed
   * @returns seconds; 0: ask for an immediate answer
   */
  ask(lifeMs: number, now: number): number {
    this.#seconds = this.#isPlain ? 0 : Math.min(this.#mostSeconds, waitSeconds(lifeMs))
    this.#askedAt = now
    this.#tookMs = undefined
    return this.#seconds
  }

  /** For how many seconds the next answer may be held; 0 after a failure. */
  get inUse(): number {
    return this.#isPlain ? 0 : this.#mostSeconds
  }

  /** How long an answer may be held while that is less than a service allows; infinite otherwise. */
  get cutToMs(): number {
    return this.#mostSeconds < WAIT_MAX_SECONDS ? this.#mostSeconds * 1_000 : Number.POSITIVE_INFINITY
  }

  /** The answer can be read. A failure after that has nothing to do with the hold. */
  answered(now: number): void {
    this.#tookMs = now - this.#askedAt
  }

  /** The poll succeeded. */
  succeeded(now: number): void {
    this.#isPlain = false
    if (this.#seconds > 0 && (this.#tookMs ?? 0) > this.#failedAfterMs) this.#failures = 0
    this.#seconds = 0
    if (now < this.#growsAt) return
    this.#mostSeconds = Math.min(WAIT_MAX_SECONDS, Math.max(1, this.#mostSeconds * 2))
    this.#growsAt = now + this.#quietMs()
  }

  failed(now: number): void {
    const seconds = this.#tookMs === undefined ? this.#seconds : 0
    this.#isPlain = true
    this.#seconds = 0
    if (seconds === 0) return
    const tookMs = now - this.#askedAt
    this.#failedAfterMs = tookMs
    this.#failures++
    // A single failure that comes at once would have come without a hold too.
    if (tookMs < HELD_MS && this.#failures === 1) return
    this.#mostSeconds = Math.min(Math.floor(seconds / 2), Math.floor(tookMs / 2_000))
    this.#growsAt = now + this.#quietMs()
  }

  #quietMs(): number {
    return Math.min(QUIET_MAX_MS, QUIET_MIN_MS * 2 ** Math.max(0, this.#failures - 1))
  }
}
