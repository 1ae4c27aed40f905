import type { WorkspaceFacts } from '../../gate/workspace-facts.ts'
import { recentlyUsed } from '../../platform/concurrency/recently-used.ts'

/** What decides how many counters a workspace may have. */
export interface CounterFacts extends WorkspaceFacts {
  /** All workspaces of its first owner, which pay together. */
  readonly workspaceIds: readonly string[]
  /** How many projects those have. */
  readonly projects: number
}

/** All projects of one environment of a workspace. */
export interface Whole {
  readonly workspaceId: string
  readonly env: string
  /** The sum of all processes, when it was last learned, and what this process has added since. */
  held: number
  learnedAt: number
  /** Units that are not noted yet, by their ends. */
  unsent: Map<number, number>
  facts: CounterFacts | null
  projects: ReadonlySet<string>
  factsAt: number
  /** What the other workspaces of its payer hold, and when that was added up. */
  beside: number
  besideAt: number
}

interface WholesParts {
  readonly factsOf: (workspaceId: string) => Promise<CounterFacts>
  /** Asks for the sum of a whole, which `learn` gets. */
  readonly ask: (whole: Whole) => void
  readonly monotonic: () => number
}

const wholesMax = 50_000
const factsMs = 60_000
/** So many wait for the database at most. Further ones ask again with their next check. */
const waitingMost = 1_000
/** How old a sum may be where a payer's workspaces are added up, and that addition. */
const sumMs = 2_000
const besideMs = 100

/** What a process knows of the wholes it has met. */
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

  /** Reads the facts of a whole soon, unless that was done in the last minute: one after the other, beside the checks. */
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
        // What was known stays, and is looked up again.
      }
    }
    this.#isLooking = false
  }

  /**
   * The units of all workspaces of the payer in this environment. Those of live are counted for test too: so a test key takes no
   * space of live checks.
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
