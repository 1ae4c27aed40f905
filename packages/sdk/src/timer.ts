/** Work that is done later; tests put their own in its place. */
export interface Timer {
  /** @returns what keeps it from being done */
  after(milliseconds: number, work: () => void): () => void
}

/** Keeps no process alive. */
export const systemTimer: Timer = {
  after(milliseconds, work) {
    const timer = setTimeout(work, milliseconds)
    // A number outside of Node, where nothing is kept alive.
    if (typeof timer === 'object') timer.unref()
    return () => clearTimeout(timer)
  },
}
