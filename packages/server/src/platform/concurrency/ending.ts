/**
 * What ends once, and until then bounds the work of many. `Promise.race` with a shared promise would keep each race, and what it
 * came to, until that promise settles.
 */
export class Ending {
  readonly #waiting = new Set<() => void>()
  #end: { error: unknown } | null = null

  /** Fails all work that waits, and all later work. */
  fail(error: unknown): void {
    if (this.#end !== null) return
    this.#end = { error }
    for (const end of this.#waiting) end()
    this.#waiting.clear()
  }

  /** @throws the error of `fail`, if that comes before the work settles */
  async during<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const end = () => reject(this.#end?.error)
    if (this.#end !== null) end()
    else this.#waiting.add(end)
    work.then(resolve, reject)
    try {
      return await promise
    } finally {
      this.#waiting.delete(end)
    }
  }
}
