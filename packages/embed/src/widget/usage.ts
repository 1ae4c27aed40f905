import type { EmbedClient } from '../client/embed-client.ts'
import type { KeyUsage } from '../types.ts'

const atOnceMax = 4

/** Figures of keys, asked for once each and few at a time, so that a long list is no burst. */
export interface UsageFigures {
  /** Undefined while it is asked for; null if it cannot be had. */
  of(id: string): KeyUsage | null | undefined
  want(id: string): void
  /** Answers that are still under way are dropped. */
  clear(): void
}

export function createUsage(client: EmbedClient, onChange: () => void): UsageFigures {
  let known = new Map<string, KeyUsage | null | undefined>()
  let waiting: string[] = []
  let running = 0

  async function ask(id: string): Promise<void> {
    const into = known
    running += 1
    const usage = await client.usage(id).catch(() => null)
    running -= 1
    into.set(id, usage)
    if (into === known) onChange()
    next()
  }
  function next(): void {
    while (running < atOnceMax) {
      const id = waiting.shift()
      if (id === undefined) return
      void ask(id)
    }
  }
  return {
    of: id => known.get(id),
    want(id) {
      if (known.has(id)) return
      known.set(id, undefined)
      waiting.push(id)
      next()
    },
    clear() {
      known = new Map()
      waiting = []
    },
  }
}
