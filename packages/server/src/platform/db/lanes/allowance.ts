import { recentlyUsed } from '../../concurrency/recently-used.ts'
import type { Logger } from '../../observe/log.ts'

/** An environment of one project of a workspace, which has its quota of the database. */
export interface ProjectEnv {
  readonly workspaceId: string
  readonly env: string
  readonly projectId: string
}

/** What a count covers: one place, or with null all projects of a workspace's environment together. */
export interface CountedEnv extends Omit<ProjectEnv, 'projectId'> {
  readonly projectId: string | null
}

/** The result of a count. */
interface Counted {
  readonly held: number
  /** Whether the workspace may have its full limit. */
  readonly isProven: boolean
  /** The projects that exist. */
  readonly projectIds: readonly string[]
}

/** The quota of one kind of data that hot calls write into the database: bytes, or rows. */
export interface Allowance {
  /** @returns whether there is space for this much more, as far as this process knows, without asking the database. */
  hasQuota(place: ProjectEnv, more: number): boolean
  /** Records what was written. */
  add(place: ProjectEnv, more: number): void
  /** The share of its limit that the fullest place uses, as far as this process knows; 1 is at the limit. */
  nearest(): number
  /** Waits for the running count. */
  close(): Promise<void>
}

export interface AllowanceOptions {
  /** For one environment of one project. */
  readonly limit: number
  /** The part of every limit that an unproven workspace has. */
  readonly unprovenPart?: number
  /**
   * Counts what is in the database.
   * @param mostOf the limit of the place.
   */
  readonly count: (place: CountedEnv, mostOf: (isProven: boolean) => number) => Promise<Counted>
  /** Milliseconds. */
  readonly monotonic: () => number
  readonly log: Pick<Logger, 'warn'>
}

/** How many full projects one environment of a workspace may have. */
export const fullProjects = 4

interface Known {
  readonly place: CountedEnv
  /** The result of the last count, and what this process has written since then. */
  counted: number
  added: number
  countedAt: number
  isDue: boolean
  most: number
  projectIds: ReadonlySet<string>
}

/** Places that were written to recently, about 200 bytes each. A forgotten place is counted again. */
const placesMax = 50_000
/** A place is counted when this process has written this share of its limit since the last count. */
const part = 1 / 32
/** The least time between two counts of one place, in ms, and as a multiple of the last count's duration. */
const restMs = 5_000
const restTimes = 20

/**
 * Keeps each project's environment within a limit without delaying writers: if every write updated a total, writers would wait
 * for the lock of its row. Each process adds up its own writes, and counts in the database only a place that is near its limit,
 * or to which the process has written a 32nd of the limit since the last count; one count at a time, beside the requests. So a
 * place may exceed its limit by a 32nd per process, and by what is written during a count.
 *
 * All projects of an environment together may use four times the limit of one. Beyond that, an existing project still gets an
 * equal part of the total, so that neither other projects nor invented ids of projects use up its quota.
 */
export const createAllowance = (options: AllowanceOptions): Allowance => new CountedAllowance(options)

class CountedAllowance implements Allowance {
  readonly #options: AllowanceOptions
  readonly #unprovenPart: number
  readonly #projects = recentlyUsed<Known>(placesMax)
  readonly #wholes = recentlyUsed<Known>(placesMax)
  readonly #due: Known[] = []
  #counting: Promise<void> | null = null
  #isClosed = false
  #restUntil = 0

  constructor(options: AllowanceOptions) {
    this.#options = options
    this.#unprovenPart = options.unprovenPart ?? 1
  }

  hasQuota(place: ProjectEnv, more: number): boolean {
    const own = this.#knownOf(place)
    const whole = this.#wholeOf(place)
    const isOwnFull = usedOf(own) + more > own.most
    const isWholeFull = usedOf(whole) + more > whole.most
    if (isOwnFull) this.#look(own)
    if (isWholeFull) this.#look(whole)
    if (isOwnFull) return false
    if (!isWholeFull) return true
    const isReal = whole.projectIds.has(place.projectId)
    return isReal && usedOf(own) + more <= whole.most / whole.projectIds.size
  }

  add(place: ProjectEnv, more: number): void {
    for (const own of [this.#knownOf(place), this.#wholeOf(place)]) {
      own.added += more
      this.#look(own)
    }
  }

  nearest(): number {
    let nearest = 0
    for (const known of [this.#projects, this.#wholes])
      for (const own of known.values())
        nearest = Math.max(nearest, own.most === 0 ? 1 : usedOf(own) / own.most)
    return nearest
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#counting
  }

  #mostOf({ projectId }: CountedEnv, isProven: boolean): number {
    const { limit } = this.#options
    return Math.floor(limit * (isProven ? 1 : this.#unprovenPart)) * (projectId === null ? fullProjects : 1)
  }

  #knownOf(place: CountedEnv): Known {
    const { workspaceId, env, projectId } = place
    const known = projectId === null ? this.#wholes : this.#projects
    const name = projectId === null ? `${workspaceId} ${env}` : `${workspaceId} ${env} ${projectId}`
    let own = known.get(name)
    if (own === undefined) {
      const most = this.#mostOf(place, true)
      own = { place, counted: 0, added: 0, countedAt: never, isDue: false, most, projectIds: none }
      known.set(name, own)
    }
    return own
  }

  #wholeOf({ workspaceId, env }: ProjectEnv): Known {
    return this.#knownOf({ workspaceId, env, projectId: null })
  }

  /** Counts the place soon, if this process knows too little, or rows may have been pruned since the last count. */
  #look(own: Known): void {
    if (own.isDue || this.#isClosed) return
    const isNear = usedOf(own) >= own.most * (1 - part)
    // Until the first count the process does not know whether the workspace is proven.
    const enough = own.most * part * (own.countedAt === never ? this.#unprovenPart : 1)
    if (own.added < enough && !isNear) return
    const now = this.#options.monotonic()
    if (now < this.#restUntil || now - own.countedAt < restMs) return
    own.isDue = true
    this.#due.push(own)
    this.#counting ??= this.#countDue()
  }

  async #countDue(): Promise<void> {
    const { count, monotonic, log } = this.#options
    for (let own = this.#due.shift(); own !== undefined && !this.#isClosed; own = this.#due.shift()) {
      const { place } = own
      const before = own.added
      const began = monotonic()
      try {
        const { held, isProven, projectIds } = await count(place, isProven => this.#mostOf(place, isProven))
        own.counted = held
        own.added -= before
        own.most = this.#mostOf(place, isProven)
        if (place.projectId === null) own.projectIds = new Set(projectIds)
      } catch (error) {
        // The last known value stays, and a later write causes another count.
        log.warn({ err: error }, 'counting a workspace’s allowance failed')
      }
      own.countedAt = monotonic()
      this.#restUntil = own.countedAt + restTimes * (own.countedAt - began)
      own.isDue = false
    }
    this.#counting = null
  }
}

const never = Number.NEGATIVE_INFINITY
const none: ReadonlySet<string> = new Set()

const usedOf = ({ counted, added }: Known): number => counted + added
