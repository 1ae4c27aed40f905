/** How long a party counts as active after a request, in milliseconds. */
const aboutMs = 1_000

/** Knows whether a party is alone, because its share depends on whether other parties are active. */
export class RecentParties {
  /** The party that asked last, when it asked, and when any other party asked last. */
  #last = { name: '', at: Number.NEGATIVE_INFINITY, otherAt: Number.NEGATIVE_INFINITY }
  readonly #now: () => number

  /** @param now a monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Records that a party has asked for something. */
  note(name: string): void {
    const last = this.#last
    if (name !== last.name) this.#last = { name, at: this.#now(), otherAt: last.at }
    else last.at = this.#now()
  }

  /** Whether any other party has asked for something in the last second. */
  has(name: string): boolean {
    const othersAt = name === this.#last.name ? this.#last.otherAt : this.#last.at
    return this.#now() - othersAt < aboutMs
  }
}
