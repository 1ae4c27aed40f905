import type { WorkspaceFacts } from '../../gate/workspace-facts.ts'
import { recentlyUsed } from '../../platform/concurrency/recently-used.ts'

/** What decides how many counters a workspace may have. */
export interface CounterFacts extends WorkspaceFacts {
  /** All workspaces of this workspace's first owner; their counters are limited together. */
  readonly workspaceIds: readonly string[]
  /** How many projects these workspaces have. */
  readonly projects: number
}

/** All projects of one environment of a workspace, counted together. */
export interface Whole {
  readonly workspaceId: string
  readonly env: string
  /** The last known sum of all processes plus the units that this process has added since, and when the sum was learned. */
  held: number
  learnedAt: number
  /** Units that are not sent yet, by their ends. */
  unsent: Map<number, number>
  facts: CounterFacts | null
  projects: ReadonlySet<string>
  factsAt: number
  /** What the other workspaces of the payer hold, and when that sum was made. */
  beside: number
  besideAt: number
}

interface WholesParts {
  readonly factsOf: (workspaceId: string) => Promise<CounterFacts>
  /** Asks for the sum of an environment; the answer goes to `learn`. */
  readonly ask: (whole: Whole) => void
  readonly monotonic: () => number
}

const wholesMax = 50_000
const factsMs = 60_000
/** How many workspaces wait for a look-up at most. Further ones ask again with their next check. */
const waitingMost = 1_000
/** The greatest age of an environment's sum, and of a payer's, in ms. */
const sumMs = 2_000
const besideMs = 100

/** What a process knows of the environments it has met. */
export class Wholes {
  readonly #known = recentlyUsed<Whole>(wholesMax)
  readonly #parts: WholesParts
  readonly #waiting = new Set<Whole>()
  #isLooking = false

  constructor(parts: WholesParts) {
    this.#parts = parts
  }

  get(workspaceId: string, env: string): Whole | undefined {
    return this.#known.get(`${workspaceId}:${env}`)
  }

  of(workspaceId: string, env: string): Whole {
    const known = this.get(workspaceId, env)
    if (known !== undefined) return known
    const whole: Whole = {
      ...{ workspaceId, env, held: 0, learnedAt: never, unsent: new Map() },
      ...{ facts: null, projects: new Set(), factsAt: never, beside: 0, besideAt: never },
    }
    this.#known.set(`${workspaceId}:${env}`, whole)
    return whole
  }

  learn(whole: Whole, held: number): void {
    whole.held = held
    whole.learnedAt = this.#parts.monotonic()
  }

  /** Reads the facts of a workspace soon, beside the checks and one after the other, unless they were read in the last minute. */
  lookUp(whole: Whole): void {
    const now = this.#parts.monotonic()
    if (now - whole.factsAt < factsMs || this.#waiting.size >= waitingMost) return
    whole.factsAt = now
    this.#waiting.add(whole)
    if (!this.#isLooking) void this.#lookUpWaiting()
  }

  async #lookUpWaiting(): Promise<void> {
    this.#isLooking = true
    for (const whole of this.#waiting) {
      this.#waiting.delete(whole)
      try {
        whole.facts = await this.#parts.factsOf(whole.workspaceId)
        whole.projects = new Set(whole.facts.projectIds)
        whole.besideAt = never
      } catch {
        // The known facts stay, and are read again later.
      }
    }
    this.#isLooking = false
  }

  /**
   * The units of all workspaces of the payer in this environment. For test, the units of live are counted too, so that a test
   * key takes no space from live checks.
   */
  heldByPayer(whole: Whole): number {
    const now = this.#parts.monotonic()
    if (now - whole.besideAt >= besideMs) {
      whole.besideAt = now
      whole.beside = this.#sumBeside(whole, now)
    }
    return whole.held + whole.beside
  }

  #sumBeside(whole: Whole, now: number): number {
    let sum = 0
    this.#askIfOld(whole, now)
    for (const workspaceId of whole.facts?.workspaceIds ?? [whole.workspaceId])
      for (const env of whole.env === 'test' ? ['live', 'test'] : ['live']) {
        const one = this.of(workspaceId, env)
        if (one === whole) continue
        this.#askIfOld(one, now)
        sum += one.held
      }
    return sum
  }

  #askIfOld(whole: Whole, now: number): void {
    if (now - whole.learnedAt < sumMs) return
    whole.learnedAt = now
    this.#parts.ask(whole)
  }
}

const never = Number.NEGATIVE_INFINITY
