import type { Logger } from '../log.ts'
import { recentlyUsed } from '../recently-used.ts'

/** How much of one kind of thing, written by hot calls, a workspace may keep in the database: bytes, or rows. */
export interface Allowance {
  /**
   * @returns whether the workspace has room for this much more, as far as this process knows. It does not ask
   * the database.
   */
  hasRoom(workspaceId: string, more: number): boolean
  /** Records what was written. */
  add(workspaceId: string, more: number): void
  /** The share of the limit that the fullest workspace uses, as far as this process knows; 1 is at the limit. */
  nearest(): number
  /** Waits for the running count. */
  close(): Promise<void>
}

export interface AllowanceOptions {
  readonly limit: number
  /** Counts what a workspace has in the database. */
  readonly count: (workspaceId: string) => Promise<number>
  /** Milliseconds. */
  readonly monotonic: () => number
  readonly log: Pick<Logger, 'warn'>
}

interface Known {
  /** The result of the last count, and what this process has written since. */
  counted: number
  added: number
  countedAt: number
  isDue: boolean
}

/** Workspaces that wrote lately, about 100 bytes each. A forgotten one is counted again. */
const workspacesMax = 50_000
/** A workspace is counted when this process has written this share of its limit since the last count. */
const part = 1 / 32
/** The least time between two counts of one workspace, in ms, and as a multiple of the last count's duration. */
const restMs = 5_000
const restTimes = 20

/**
 * Keeps each workspace within a limit without slowing its writers down: every write would lock a row with the
 * total. Each process adds up its own writes, and counts in the database only for a workspace that has written a
 * 32nd of its limit since the last count, or is near the limit; one count at a time, beside the requests. So a
 * workspace may exceed its limit by a 32nd per process, and by what is written during a count.
 */
export function createAllowance({ limit, count, monotonic, log }: AllowanceOptions): Allowance {
  const known = recentlyUsed<Known>(workspacesMax)
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
        // The last known value stays, and the count is repeated.
        log.warn({ err: error }, 'counting a workspace’s allowance failed')
      }
      own.countedAt = monotonic()
      restUntil = own.countedAt + restTimes * (own.countedAt - began)
      own.isDue = false
    }
    counting = null
  }
  /** Whether too little is known, or rows may have been pruned since. */
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
