/** Work that is done later; tests put their own in its place. */
export interface Timer {
  /**
   * @param keepsAlive whether the process waits for it too, as it must where a caller does
   * @returns what keeps it from being done
   */
  after(milliseconds: number, work: () => void, keepsAlive?: boolean): () => void
}

/** Keeps no process alive unless it is told to. */
export const systemTimer: Timer = {
  after(milliseconds, work, keepsAlive = false) {
    const timer = setTimeout(work, milliseconds)
    // A number outside of Node, where nothing is kept alive.
    if (!keepsAlive && typeof timer === 'object') timer.unref()
    return () => clearTimeout(timer)
  },
}
