import { LRUCache } from 'lru-cache'
import type { Logger } from '../log.ts'

/** What a workspace may keep in the store of one kind of thing that comes by hot calls: bytes, or rows. */
export interface Allowance {
  /** @returns whether the workspace has room for so much more, as far as this process knows. It asks nobody. */
  hasRoom(workspaceId: string, more: number): boolean
  /** Notes what was written. */
  add(workspaceId: string, more: number): void
  /** How near the workspace that is nearest to the limit is to it, as far as this process knows; 1 is at the limit. */
  nearest(): number
  /** Waits for the count under way. */
  close(): Promise<void>
}

export interface AllowanceOptions {
  readonly limit: number
  /** Counts what a workspace has in the store. */
  readonly count: (workspaceId: string) => Promise<number>
  /** Milliseconds. */
  readonly monotonic: () => number
  readonly log: Pick<Logger, 'warn'>
}

interface Known {
  /** What there was when it was counted, and what this process has written since. */
  counted: number
  added: number
  countedAt: number
  isDue: boolean
}

/** Workspaces that wrote lately, about 100 bytes each. One that is forgotten is counted anew. */
const workspacesMax = 50_000
/** A workspace is counted when this process has written such a part of its limit since the last time. */
const part = 1 / 32
/** Between two counts of one workspace at least, in ms; and so many times as long as the last count took. */
const restMs = 5_000
const restTimes = 20

/**
 * Keeps each workspace within a limit, and nothing in the way of those who write: a row that says how much there is would
 * be locked by every write. Each process adds up what it has written itself, and counts what there is in the store only for
 * a workspace that has written a 32nd of its limit since the last time, or is near the limit; one count at a time, behind
 * the requests. So a workspace may exceed its limit by a 32nd for each process, and by what is written during a count.
 */
export function createAllowance({ limit, count, monotonic, log }: AllowanceOptions): Allowance {
  const known = new LRUCache<string, Known>({ max: workspacesMax })
  const due: string[] = []
  let counting: Promise<void> | null = null
  let isClosed = false
  let restUntil = 0

  const knownOf = (workspaceId: string): Known => {
    let own = known.get(workspaceId)
    if (own === undefined) {
      own = { counted: 0, added: 0, countedAt: Number.NEGATIVE_INFINITY, isDue: false }
      known.set(workspaceId, own)
    }
    return own
  }
  const countDue = async () => {
    for (let next = due.shift(); next !== undefined && !isClosed; next = due.shift()) {
      const own = knownOf(next)
      const before = own.added
      const began = monotonic()
      try {
        own.counted = await count(next)
        own.added -= before
      } catch (error) {
        // What is known stays known, and is asked again.
        log.warn({ err: error }, 'what a workspace keeps could not be counted')
      }
      own.countedAt = monotonic()
      restUntil = own.countedAt + restTimes * (own.countedAt - began)
      own.isDue = false
    }
    counting = null
  }
  /** What is known too little of, or what may have been pruned meanwhile. */
  const look = (workspaceId: string, own: Known) => {
    if (own.isDue || isClosed) return
    const isNear = own.counted + own.added >= limit * (1 - part)
    if (own.added < limit * part && !isNear) return
    const now = monotonic()
    if (now < restUntil || now - own.countedAt < restMs) return
    own.isDue = true
    due.push(workspaceId)
    counting ??= countDue()
  }

  return {
    hasRoom(workspaceId, more) {
      const own = known.get(workspaceId)
      if (own === undefined) return more <= limit
      if (own.counted + own.added + more <= limit) return true
      look(workspaceId, own)
      return false
    },
    add(workspaceId, more) {
      const own = knownOf(workspaceId)
      own.added += more
      look(workspaceId, own)
    },
    nearest() {
      let most = 0
      for (const { counted, added } of known.values()) most = Math.max(most, counted + added)
      return limit === 0 ? 1 : most / limit
    },
    async close() {
      isClosed = true
      await counting
    },
  }
}
