/** Runs work later. Tests replace it. */
export interface Timer {
  /**
   * @param keepsAlive whether the process waits for it, which is needed if a caller does
   * @returns a function that cancels the work
   */
  after(milliseconds: number, work: () => void, keepsAlive?: boolean): () => void
}

/** Does not keep the process alive by default. */
export const systemTimer: Timer = {
  after(milliseconds, work, keepsAlive = false) {
    const timer = setTimeout(work, milliseconds)
    // Outside of Node it is a number, and timers keep nothing alive.
    if (!keepsAlive && typeof timer === 'object') timer.unref()
    return () => clearTimeout(timer)
  },
}
