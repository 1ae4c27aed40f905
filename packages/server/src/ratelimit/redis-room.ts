import type { WorkspaceFacts } from '../gate/workspace-facts.ts'
import { fullProjects } from '../platform/db/allowance.ts'
import { recentlyUsed } from '../platform/recently-used.ts'
import { unprovenPart } from './counter-rows.ts'
import type { Check } from './fold.ts'
import type { Change } from './redis-batch.ts'

/**
 * How many units the counters of a project may take in Redis. The script keeps a project to that number. This part knows what
 * all projects of an environment take together, and what kind of workspace it is: then it gives the script a smaller number.
 */
export interface RedisRoom {
  /** The most units of a project, unless `unitsOf` says otherwise. */
  usual(): number
  /** Undefined: the usual number. */
  unitsOf(check: Pick<Check, 'workspaceId' | 'projectId' | 'env'>): number | undefined
  /** Takes in what a call has changed. */
  learn(changes: readonly Change[]): void
  /** The part of its limit that the fullest place has used, as far as this process knows. */
  nearest(): number
  /** Learns how much memory a server has. */
  setMemory(bytes: number | null): void
  close(): void
}

export interface RoomParts {
  /** `SERVICE_MAX_COUNTERS_PER_WORKSPACE`. */
  readonly limit: number
  readonly factsOf: (workspaceId: string) => Promise<WorkspaceFacts>
  /** Adds units under the name of a workspace and environment. @param adds ends and units in turn. */
  readonly note: (tag: string, adds: readonly number[]) => void
  /** Hears of a tag that is near its bound. A whole environment is named `keyrail:{workspace:env}`. */
  readonly isNear: (tag: string) => void
  readonly monotonic: () => number
}

/** About what a unit takes: a key with one counter, measured with Redis 8 and Valkey. */
const unitBytes = 400
/** One project takes at most so much of a server, so that no workspace fills it. */
const memoryPart = 1 / 16
/** Units of one environment are added up for so long before they are noted. */
const gatherMs = 200
const factsMs = 60_000
const wholesMax = 50_000

interface Whole {
  readonly workspaceId: string
  held: number
  /** Units that are not noted yet, by their ends. */
  unsent: Map<number, number>
  facts: WorkspaceFacts | null
  projects: ReadonlySet<string>
  factsAt: number
}

export function openRedisRoom(parts: RoomParts): RedisRoom {
  const { limit, factsOf, note, isNear, monotonic } = parts
  const wholes = recentlyUsed<Whole>(wholesMax)
  const due = new Set<string>()
  let most = limit
  let timer: NodeJS.Timeout | undefined
  let nearest = 0

  const wholeOf = (workspaceId: string, env: string): Whole => {
    const name = `${workspaceId}:${env}`
    let whole = wholes.get(name)
    if (whole === undefined) {
      const unsent = new Map<number, number>()
      whole = { workspaceId, held: 0, unsent, facts: null, projects: new Set(), factsAt: never }
      wholes.set(name, whole)
    }
    return whole
  }
  const ownMost = ({ facts }: Whole) => Math.floor(most * (facts?.isProven === false ? unprovenPart : 1))
  const lookUp = async (whole: Whole) => {
    if (whole.held < (most * unprovenPart) / 2 || monotonic() - whole.factsAt < factsMs) return
    whole.factsAt = monotonic()
    try {
      whole.facts = await factsOf(whole.workspaceId)
      whole.projects = new Set(whole.facts.projectIds)
    } catch {
      // What was known stays, and is looked up again.
    }
  }
  const send = () => {
    timer = undefined
    for (const name of due) {
      const whole = wholes.get(name)
      if (whole === undefined || whole.unsent.size === 0) continue
      const adds = [...whole.unsent].flat()
      whole.unsent = new Map()
      note(`keyrail:{${name}}`, adds)
    }
    due.clear()
  }
  const add = (workspaceId: string, env: string, added: readonly number[]) => {
    if (added.length === 0) return
    const whole = wholeOf(workspaceId, env)
    for (let i = 0; i < added.length; i += 2) {
      const [ends = 0, units = 0] = [added[i], added[i + 1]]
      whole.unsent.set(ends, (whole.unsent.get(ends) ?? 0) + units)
      // Until the sum of all processes is known again.
      whole.held += units
    }
    void lookUp(whole)
    due.add(`${workspaceId}:${env}`)
    timer ??= setTimeout(send, gatherMs).unref()
  }

  return {
    usual: () => most,
    unitsOf({ workspaceId, projectId, env }) {
      const whole = wholes.get(`${workspaceId}:${env}`)
      if (whole === undefined) return undefined
      const own = ownMost(whole)
      if (whole.held < own * fullProjects) return own === most ? undefined : own
      if (!whole.projects.has(projectId)) return 0
      return Math.min(own, Math.floor((own * fullProjects) / whole.projects.size))
    },
    learn(changes) {
      for (const change of changes) {
        const [workspaceId = '', ...rest] = change.tag.slice('keyrail:{'.length, -1).split(':')
        const env = rest.at(-1) ?? ''
        const whole = wholeOf(workspaceId, env)
        const own = ownMost(whole)
        if (rest.length === 2) {
          add(workspaceId, env, change.added)
          nearest = Math.max(nearest * decay, change.held / Math.max(1, own))
          if (change.isNear) isNear(change.tag)
          continue
        }
        whole.held = change.held
        nearest = Math.max(nearest * decay, change.held / Math.max(1, own * fullProjects))
        void lookUp(whole)
        if (change.held >= (own * fullProjects * 7) / 8) isNear(change.tag)
      }
    },
    nearest: () => nearest,
    setMemory(bytes) {
      most = bytes === null ? limit : Math.min(limit, Math.floor((bytes * memoryPart) / unitBytes))
    },
    close: () => clearTimeout(timer),
  }
}

const never = Number.NEGATIVE_INFINITY
/** The fullest place that was heard of fades, as its counters end. */
const decay = 0.999
