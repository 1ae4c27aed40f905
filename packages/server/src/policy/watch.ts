import type { PolicyHead } from '../gate/read-head.ts'
import type { Hints } from '../platform/db/listen/hints.ts'
import { policyTopic } from './changes.ts'
import { type Heads, type ProjectRef, refKey } from './heads.ts'
import { type HeldMax, HeldPlaces } from './held-places.ts'

/** Holds requests until the policy of a project has another version than they have. */
export interface Watch {
  /**
   * @param who whose places it takes. Test keys hold at most half of those of a workspace.
   * @returns null when the maximum of held requests is reached.
   */
  change(
    who: ProjectRef & { readonly reach: 'test' | 'both' },
    version: number,
    ms: number,
    gone: AbortSignal,
  ): Promise<WaitEnd> | null
  /** How many requests are held, and the most of one workspace. */
  held(): { all: number; mostOfOne: number }
}

/** How a wait ended. */
interface WaitEnd {
  /** The head that ended it; null when there was no change, or when its place went to a workspace that holds fewer. */
  readonly head: PolicyHead | null
  /** When the last successful look at the head began, by the monotonic clock. */
  readonly lookedAt: number
}

/** A hint may be lost, so the heads are also read periodically. All waiters of a project share the read. */
const lookMs = 1_000

interface Watched {
  waiting: Set<(head: PolicyHead | null) => void>
  readonly lookedAt: number
  look(): Promise<void>
  stop(): void
}

/** @param monotonic milliseconds. */
export function createWatch(
  heads: Heads,
  hints: Pick<Hints, 'listen'>,
  max: HeldMax,
  monotonic: () => number,
): Watch {
  const places = new HeldPlaces(max)
  const watched = new Map<string, Watched>()

  const start = (ref: ProjectRef): Watched => {
    const waiting: Watched['waiting'] = new Set()
    let looking = false
    let again = false
    let lookedAt = Number.NEGATIVE_INFINITY
    const look = async (): Promise<void> => {
      again = looking
      if (looking) return
      looking = true
      const beganAt = monotonic()
      const head = await heads.run(ref).catch(() => null)
      if (head !== null) lookedAt = beganAt
      for (const notify of waiting) notify(head)
      looking = false
      if (again) await look()
    }
    const timer = setInterval(look, lookMs)
    const silence = hints.listen(policyTopic(ref.workspaceId, ref.projectId), look)
    return {
      waiting,
      get lookedAt() {
        return lookedAt
      },
      look,
      stop() {
        clearInterval(timer)
        silence()
      },
    }
  }

  return {
    held: () => places.held,
    change({ workspaceId, projectId, reach }, version, ms, gone) {
      const giveUp = () => end(null)
      const leave = places.take(workspaceId, reach === 'test', giveUp)
      if (leave === null) return null
      const ref = { workspaceId, projectId }
      const key = refKey(ref)
      const own = watched.get(key) ?? start(ref)
      watched.set(key, own)
      const { promise, resolve } = Promise.withResolvers<WaitEnd>()
      const end = (head: PolicyHead | null) => {
        leave()
        clearTimeout(timer)
        gone.removeEventListener('abort', giveUp)
        own.waiting.delete(notify)
        if (own.waiting.size === 0 && watched.get(key) === own) {
          watched.delete(key)
          own.stop()
        }
        resolve({ head, lookedAt: own.lookedAt })
      }
      const notify = (head: PolicyHead | null) => {
        if (head !== null && head.version !== version) end(head)
      }
      const timer = setTimeout(giveUp, ms)
      gone.addEventListener('abort', giveUp)
      own.waiting.add(notify)
      if (gone.aborted) giveUp()
      // A change between the caller's own look-up and now was announced before this wait, so look again.
      else void own.look()
      return promise
    },
  }
}
