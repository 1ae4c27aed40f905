/** How long a party counts as being about after it has asked, in milliseconds. */
const aboutMs = 1_000

/** Knows whether somebody is alone: what one party may take depends on whether others are about. */
export class Company {
  /** Who asked last, when, and when somebody else did. */
  #last = { name: '', at: Number.NEGATIVE_INFINITY, otherAt: Number.NEGATIVE_INFINITY }
  readonly #now: () => number

  /** @param now a monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Notes that a party has asked for something. */
  note(name: string): void {
    const last = this.#last
    if (name !== last.name) this.#last = { name, at: this.#now(), otherAt: last.at }
    else last.at = this.#now()
  }

  /** Whether anybody else has asked in the last second. */
  has(name: string): boolean {
    const othersAt = name === this.#last.name ? this.#last.otherAt : this.#last.at
    return this.#now() - othersAt < aboutMs
  }
}
