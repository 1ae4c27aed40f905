/** The clock of all deadlines, in milliseconds. It always runs, unlike the service's `Clock`, which tests hold still. */
const monotonic = (): number => performance.now()

/**
 * The moment by which a call is answered, if only with 503. It is made once, when the call comes in, and travels on the
 * call to everything that the call asks of the store.
 */
export class Deadline {
  readonly #budgetMs: number
  readonly #now: () => number
  #at: number
  /** What was left when it was paused; null while it runs. */
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

  /** Not positive once it has passed. */
  leftMs(): number {
    return this.#heldMs ?? this.#at - this.#now()
  }

  /** The deadline of one part of the call: a smaller budget, within what the call has left. */
  earlier(budgetMs: number): Deadline {
    return new Deadline(Math.min(budgetMs, this.leftMs()), this.#now)
  }

  /** Stops the time, while the service waits for the caller. */
  pause(): void {
    this.#heldMs ??= this.#at - this.#now()
  }

  /** Lets the time run on from where it was paused. */
  resume(): void {
    if (this.#heldMs === null) return
    this.#at = this.#now() + this.#heldMs
    this.#heldMs = null
  }

  /** Gives the whole budget again, to a call that was held or streams for long. */
  renew(): void {
    this.#heldMs = null
    this.#at = this.#now() + this.#budgetMs
  }
}
