/** A process that has served for this long was no failed start, in ms. */
const soonMs = 10_000
const firstWaitMs = 500
const waitMsMax = 8_000
/** Failures in a row after which a start is hopeless: with the waits between them, some 8 s. */
export const failuresMax = 5

/** How fast the process of one place is started again, and when no more. */
export class StartPace {
  #failures = 0

  /**
   * A process has ended by itself.
   * @param servedMs how long it has served; null: it never began to.
   * @returns after how many ms another one starts; null: never.
   */
  ended(servedMs: number | null): number | null {
    if (servedMs !== null && servedMs >= soonMs) this.#failures = 0
    else this.#failures += 1
    if (this.#failures >= failuresMax) return null
    return this.#failures === 0 ? 0 : Math.min(waitMsMax, firstWaitMs * 2 ** (this.#failures - 1))
  }
}
