import type { EmbedClient } from '../client/embed-client.ts'
import type { KeyUsage } from '../types.ts'

const atOnceMax = 4

/** Requests of each key. Few keys are asked for at a time, so that a long list sends no burst. */
export interface UsageFigures {
  /** The newest figures of a key. Undefined until the first answer; null if that call failed. */
  of(id: string): KeyUsage | null | undefined
  /** Asks for the figures of a key, once for each list. */
  want(id: string): void
  /** Lets each key ask again. Known figures stay until the answer, so that nothing flickers. */
  renew(): void
  /** Forgets all figures. */
  clear(): void
}

export function createUsage(client: EmbedClient, onChange: () => void): UsageFigures {
  const known = new Map<string, KeyUsage | null>()
  /** The keys that the present list has asked for. Answers for an earlier list are dropped. */
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
