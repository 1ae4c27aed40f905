import type { EmbedClient } from '../client/embed-client.ts'
import type { KeyUsage } from '../types.ts'

const atOnceMax = 4

/** Figures of keys, asked for few at a time, so that a long list is no burst. */
export interface UsageFigures {
  /** The newest that are known. Undefined while the first are asked for; null if they cannot be had. */
  of(id: string): KeyUsage | null | undefined
  /** Asks, once for each list. */
  want(id: string): void
  /** Lets each key ask again. What is known stays until then, so that nothing flickers. */
  renew(): void
  /** Forgets them all. */
  clear(): void
}

export function createUsage(client: EmbedClient, onChange: () => void): UsageFigures {
  const known = new Map<string, KeyUsage | null>()
  /** What the present list has asked for. Answers to another list are dropped. */
  let asked = new Set<string>()
  let waiting: string[] = []
  let running = 0

  async function ask(id: string): Promise<void> {
    const by = asked
    running += 1
    const usage = await client.usage(id).catch(() => known.get(id) ?? null)
    running -= 1
    if (by === asked) {
      known.set(id, usage)
      onChange()
    }
    next()
  }
  function next(): void {
    while (running < atOnceMax) {
      const id = waiting.shift()
      if (id === undefined) return
      void ask(id)
    }
  }
  function renew(): void {
    asked = new Set()
    waiting = []
  }
  return {
    of: id => known.get(id),
    want(id) {
      if (asked.has(id)) return
      asked.add(id)
      waiting.push(id)
      next()
    },
    renew,
    clear() {
      renew()
      known.clear()
    },
  }
}
