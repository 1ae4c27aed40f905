import { fullProjects } from '../../platform/db/lanes/allowance.ts'
import { unprovenPart } from '../counter-rows.ts'
import type { Check } from '../fold.ts'
import { type Change, tagOf } from './batch.ts'
import { fullestOf, type ServerMemory } from './memory.ts'
import { RedisPressure, unitBytes } from './pressure.ts'
import { type CounterFacts, type Whole, Wholes } from './wholes.ts'

export interface CounterQuotaParts {
  /** `SERVICE_MAX_COUNTERS_PER_WORKSPACE`. */
  readonly limit: number
  readonly factsOf: (workspaceId: string) => Promise<CounterFacts>
  /**
   * Adds units under the tag of a whole environment, and passes the new sum to `learn`.
   * @param adds ends and units in turn.
   */
  readonly note: (tag: string, adds: readonly number[]) => void
  /** Called for a tag that is near its limit. The tag of a whole environment is `keyrail:{workspace:env}`. */
  readonly isNear: (tag: string) => void
  /** The server that has a tag. */
  readonly placeOf: (tag: string) => string
  /** Called when much was added since the memory was read. */
  readonly hasAdded: () => void
  readonly monotonic: () => number
}

type CheckPlace = Pick<Check, 'workspaceId' | 'projectId' | 'env'>

/** The part of a server's memory that one project may use, so that no workspace fills the server. */
const memoryPart = 1 / 16
/** Units of one environment are added up for so long before they are sent. */
const gatherMs = 200
/**
 * Below this part of its payer's limit, an environment needs no look-up: the workspaces that a person may own by default, 25,
 * have fewer environments than that.
 */
const tinyPart = 1 / 64

/**
 * How many units the counters of a project may take in Redis. The script enforces that number. This class knows how many units
 * all projects of an environment take together, the facts of the workspace, and how full the servers are, and from them gives
 * the script a smaller number.
 */
export class CounterQuota {
  readonly #parts: CounterQuotaParts
  readonly #wholes: Wholes
  readonly #pressure = new RedisPressure()
  readonly #unsent = new Set<Whole>()
  #most: number
  #timer: NodeJS.Timeout | undefined
  #nearest = 0

  constructor(parts: CounterQuotaParts) {
    const { factsOf, note, monotonic } = parts
    this.#parts = parts
    this.#most = parts.limit
    this.#wholes = new Wholes({ factsOf, monotonic, ask: whole => note(nameOf(whole), []) })
  }

  /** The most units of a project, unless `unitsOf` says otherwise. */
  usual(): number {
    return this.#most
  }

  /** Whether a server is nearly full. */
  get isTight(): boolean {
    return this.#pressure.isTight
  }

  /** Undefined: the usual number. */
  unitsOf(check: CheckPlace): number | undefined {
    const units = this.#unitsByBounds(check)
    return this.#pressure.isTight ? this.#unitsUnderPressure(check, units) : units
  }

  #unitsByBounds({ workspaceId, projectId, env }: CheckPlace): number | undefined {
    const whole = this.#wholes.get(workspaceId, env)
    if (whole === undefined) return undefined
    const own = this.#ownMost(whole)
    if (whole.held < own * fullProjects) return own === this.#most ? undefined : own
    if (!whole.projects.has(projectId)) return 0
    return Math.min(own, Math.floor((own * fullProjects) / whole.projects.size))
  }

  /** If the payer holds too much, an existing project still has its equal part of the payer's limit. */
  #unitsUnderPressure(check: CheckPlace, units: number | undefined): number | undefined {
    const place = this.#parts.placeOf(tagOf(check))
    const whole = this.#wholes.of(check.workspaceId, check.env)
    const most = this.#pressure.mostAt(place, whole.facts?.isProven !== false)
    if (most === null) return units
    const held = this.#wholes.heldByPayer(whole)
    if (held >= most * unprovenPart * tinyPart) this.#wholes.lookUp(whole)
    if (held < most) return units
    if (whole.facts === null || !whole.projects.has(check.projectId)) return 0
    return Math.min(units ?? this.#most, Math.floor(most / whole.facts.projects))
  }

  /** Takes the changes that a call has made. */
  learn(changes: readonly Change[]): void {
    for (const change of changes) {
      const [workspaceId = '', ...rest] = change.tag.slice('keyrail:{'.length, -1).split(':')
      const whole = this.#wholes.of(workspaceId, rest.at(-1) ?? '')
      const own = this.#ownMost(whole)
      if (rest.length === 2) {
        this.#add(whole, change.added)
        this.#nearest = Math.max(this.#nearest * decay, change.held / Math.max(1, own))
        if (change.isNear) this.#parts.isNear(change.tag)
        continue
      }
      this.#wholes.learn(whole, change.held)
      this.#nearest = Math.max(this.#nearest * decay, change.held / Math.max(1, own * fullProjects))
      this.#lookUpIfLarge(whole)
      if (change.held >= (own * fullProjects * 7) / 8) this.#parts.isNear(change.tag)
    }
  }

  /** The part of its limit that the fullest place has used, as far as this process knows. */
  nearest(): number {
    return this.#nearest
  }

  /** Learns how full the servers are. */
  learnMemory(servers: readonly ServerMemory[]): void {
    const { limit } = this.#parts
    this.#pressure.learn(servers)
    const fullest = fullestOf(servers)
    this.#most =
      fullest === null ? limit : Math.min(limit, Math.floor((fullest.most * memoryPart) / unitBytes))
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #ownMost({ facts }: Whole): number {
    return Math.floor(this.#most * (facts?.isProven === false ? unprovenPart : 1))
  }

  #lookUpIfLarge(whole: Whole): void {
    if (whole.held >= (this.#most * unprovenPart) / 2) this.#wholes.lookUp(whole)
  }

  #add(whole: Whole, added: readonly number[]): void {
    if (added.length === 0) return
    let sum = 0
    for (let i = 0; i < added.length; i += 2) {
      const [ends = 0, units = 0] = [added[i], added[i + 1]]
      whole.unsent.set(ends, (whole.unsent.get(ends) ?? 0) + units)
      sum += units
    }
    // Counted here until the sum of all processes arrives.
    whole.held += sum
    if (this.#pressure.add(sum)) this.#parts.hasAdded()
    this.#lookUpIfLarge(whole)
    this.#unsent.add(whole)
    this.#timer ??= setTimeout(() => this.#send(), gatherMs).unref()
  }

  #send(): void {
    this.#timer = undefined
    for (const whole of this.#unsent) {
      const adds = [...whole.unsent].flat()
      whole.unsent = new Map()
      if (adds.length > 0) this.#parts.note(nameOf(whole), adds)
    }
    this.#unsent.clear()
  }
}

const nameOf = ({ workspaceId, env }: Whole): string => `keyrail:{${workspaceId}:${env}}`

/** By this factor the share of the fullest place shrinks with each change, because its counters end. */
const decay = 0.999
