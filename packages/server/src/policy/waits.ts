/** Revocations that wait for nodes, so that a process which stops can let them end. */
export interface Waits {
  /** @param wait returns the current state when its signal fires: the client is gone, or the process must end. */
  during<T>(gone: AbortSignal, wait: (gone: AbortSignal) => Promise<T>): Promise<T>
  /** Resolves when those that wait now have ended. */
  ended(): Promise<void>
  /** Ends all, now and from now on. */
  end(): void
}

export function createWaits(): Waits {
  const over = new AbortController()
  const waiting = new Set<Promise<unknown>>()
  return {
    async during(gone, wait) {
      const waits = wait(AbortSignal.any([gone, over.signal]))
      waiting.add(waits)
      return await waits.finally(() => waiting.delete(waits))
    },
    async ended() {
      await Promise.allSettled(waiting)
    },
    end: () => over.abort(),
  }
}
