/** Revocations that wait for nodes, so that a process which stops can let them end. */
export interface Waits {
  /** @param wait returns the current state when its signal fires: the client is gone, or the process must end. */
  during<T>(gone: AbortSignal, wait: (gone: AbortSignal) => Promise<T>): Promise<T>
  /** Whether the process is about to end, so that waiting for a store which does not answer is in vain. */
  readonly isLeaving: boolean
  /** Marks the process as leaving. @returns resolves when the waits of this moment have ended. */
  ended(): Promise<void>
  /** Ends all waits, and those that begin later. */
  end(): void
}

export function createWaits(): Waits {
  const over = new AbortController()
  const waiting = new Set<Promise<unknown>>()
  let isLeaving = false
  return {
    get isLeaving() {
      return isLeaving
    },
    async during(gone, wait) {
      const waits = wait(AbortSignal.any([gone, over.signal]))
      waiting.add(waits)
      return await waits.finally(() => waiting.delete(waits))
    },
    async ended() {
      isLeaving = true
      await Promise.allSettled(waiting)
    },
    end: () => over.abort(),
  }
}
