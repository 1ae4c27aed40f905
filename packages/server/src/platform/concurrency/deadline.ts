/** The clock of all deadlines, in milliseconds. This clock always runs, unlike the service's `Clock`, which tests hold still. */
const monotonic = (): number => performance.now()

/**
 * The moment by which a call must be answered, if only with 503. A deadline is made when the call arrives, and bounds all that
 * the call asks of the store.
 */
export class Deadline {
  readonly #budgetMs: number
  readonly #now: () => number
  #at: number
  /** The milliseconds left when the deadline was paused; null while it runs. */
  #heldMs: number | null = null

  constructor(budgetMs: number, now: () => number = monotonic) {
    this.#budgetMs = budgetMs
    this.#now = now
    this.#at = now() + budgetMs
  }

  /** On the clock of `performance.now()`. */
  get at(): number {
    return this.#heldMs === null ? this.#at : this.#now() + this.#heldMs
  }

  /** Zero or less once the deadline has passed. */
  leftMs(): number {
    return this.#heldMs ?? this.#at - this.#now()
  }

  /** The deadline of one part of the call: a smaller budget, at most what the call has left. */
  earlier(budgetMs: number): Deadline {
    return new Deadline(Math.min(budgetMs, this.leftMs()), this.#now)
  }

  /** Stops the deadline's clock, while the service waits for the caller. */
  pause(): void {
    this.#heldMs ??= this.#at - this.#now()
  }

  /** Starts the deadline's clock again after `pause`. */
  resume(): void {
    if (this.#heldMs === null) return
    this.#at = this.#now() + this.#heldMs
    this.#heldMs = null
  }

  /** Starts again with the whole budget, for a call that was held or streams for long. */
  renew(): void {
    this.#heldMs = null
    this.#at = this.#now() + this.#budgetMs
  }
}
