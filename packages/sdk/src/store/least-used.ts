/**
 * Finds the least recently used slot without a linked list. Using a record costs one write (a rising stamp in the record),
 * and only evictions, which are rare, cost more: they sort all slots by stamp once and take them in that order. A slot whose
 * stamp has changed since was used or replaced, so it is younger than all that remain.
 */
export class LeastUsed {
  #queue: { slot: number; used: number }[] = []
  #next = 0
  readonly #slots: () => Iterable<number>
  readonly #usedOf: (slot: number) => number

  /** @param usedOf returns the stamp of a slot: unique, and 0 for a free slot */
  constructor(slots: () => Iterable<number>, usedOf: (slot: number) => number) {
    this.#slots = slots
    this.#usedOf = usedOf
  }

  /** The slot with the lowest stamp, or -1 if none is used. */
  take(): number {
    const slot = this.#fromQueue()
    if (slot !== undefined) return slot
    this.#refill()
    return this.#fromQueue() ?? -1
  }

  #fromQueue(): number | undefined {
    while (this.#next < this.#queue.length) {
      const { slot, used } = this.#queue[this.#next++] as { slot: number; used: number }
      if (this.#usedOf(slot) === used) return slot
    }
    return undefined
  }

  #refill(): void {
    this.#queue = Array.from(this.#slots(), slot => ({ slot, used: this.#usedOf(slot) }))
    this.#queue.sort((one, other) => one.used - other.used)
    this.#next = 0
  }
}
