import type { Hints } from '../platform/db/hints.ts'
import { policyTopic } from './changes.ts'
import { type Heads, type ProjectRef, refKey } from './heads.ts'
import type { PolicyHead } from './sql.ts'

/** Holds requests until the policy of a project has another version than they have. */
export interface Watch {
  /**
   * @returns null when the maximum of held requests is reached; otherwise a promise of the head that ended the wait, or of
   *   null when there was no change.
   */
  change(ref: ProjectRef, version: number, ms: number, gone: AbortSignal): Promise<PolicyHead | null> | null
  /** How many requests are held, and the most of one workspace. */
  held(): { all: number; mostOfOne: number }
}

/** How many requests may be held in total and per workspace. Each is a request, a response and a timer. */
export interface HeldMax {
  readonly all: number
  readonly ofWorkspace: number
}

/** A hint may be lost, so the heads are also read periodically. All waiters of a project share the read. */
const lookMs = 1_000

interface Watched {
  waiting: Set<(head: PolicyHead | null) => void>
  look(): Promise<void>
  stop(): void
}

export function createWatch(heads: Heads, hints: Pick<Hints, 'listen'>, max: HeldMax): Watch {
  /** By workspace. */
  const held = new Map<string, number>()
  let all = 0
  const watched = new Map<string, Watched>()

  const start = (ref: ProjectRef): Watched => {
    const waiting: Watched['waiting'] = new Set()
    let looking = false
    let again = false
    const look = async (): Promise<void> => {
      again = looking
      if (looking) return
      looking = true
      const head = await heads.run(ref).catch(() => null)
      for (const hear of waiting) hear(head)
      looking = false
      if (again) await look()
    }
    const timer = setInterval(look, lookMs)
    const silence = hints.listen(policyTopic(ref.workspaceId, ref.projectId), look)
    return {
      waiting,
      look,
      stop() {
        clearInterval(timer)
        silence()
      },
    }
  }

  /** @returns whether there was room. */
  const takePlace = (workspaceId: string): boolean => {
    const own = held.get(workspaceId) ?? 0
    if (all >= max.all || own >= max.ofWorkspace) return false
    all += 1
    held.set(workspaceId, own + 1)
    return true
  }
  const leavePlace = (workspaceId: string) => {
    const left = (held.get(workspaceId) ?? 1) - 1
    all -= 1
    if (left === 0) held.delete(workspaceId)
    else held.set(workspaceId, left)
  }

  return {
    held: () => ({ all, mostOfOne: [...held.values()].reduce((most, own) => Math.max(most, own), 0) }),
    change(ref, version, ms, gone) {
      if (!takePlace(ref.workspaceId)) return null
      const key = refKey(ref)
      const own = watched.get(key) ?? start(ref)
      watched.set(key, own)
      const { promise, resolve } = Promise.withResolvers<PolicyHead | null>()
      let isHeld = true
      const end = (head: PolicyHead | null) => {
        if (isHeld) leavePlace(ref.workspaceId)
        isHeld = false
        clearTimeout(timer)
        gone.removeEventListener('abort', giveUp)
        own.waiting.delete(hear)
        if (own.waiting.size === 0 && watched.get(key) === own) {
          watched.delete(key)
          own.stop()
        }
        resolve(head)
      }
      const giveUp = () => end(null)
      const hear = (head: PolicyHead | null) => {
        if (head !== null && head.version !== version) end(head)
      }
      const timer = setTimeout(giveUp, ms)
      gone.addEventListener('abort', giveUp)
      own.waiting.add(hear)
      if (gone.aborted) giveUp()
      // A change between the caller's own look-up and now was announced before this wait, so look again.
      else void own.look()
      return promise
    },
  }
}
