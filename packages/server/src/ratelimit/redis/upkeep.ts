import type { Logger } from '../../platform/observe/log.ts'
import type { Subject } from '../subject.ts'
import { keyOf, tagOf } from './batch.ts'
import { findWholes, subjectOfKey, walkKeys } from './keys.ts'
import type { Link } from './link.ts'

export interface UpkeepParts {
  readonly link: Pick<Link, 'masters'>
  /** Deletes keys of one tag, and subtracts their units. */
  readonly drop: (tag: string, keys: readonly string[]) => Promise<void>
  readonly inventedOf: (subjects: readonly Subject[]) => Promise<Subject[]>
  readonly monotonic: () => number
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** From the end of one walk to the next, in ms. A walk visits all keys of a server. */
const restMs = 5_000
/** The least pause, as a multiple of the last walk's duration, so that walks take a small part of a server's time. */
const restTimes = 20
/** How many keys one walk visits at most. */
const keysMost = 100_000
/** How often the largest environments are searched for while a server is nearly full, and how many of them are walked then. */
const findMs = 60_000
const wholesMost = 100

/** Makes space in Redis beside the checks, near a limit and on a server that is nearly full: drops counters of invented ids. */
export class RedisUpkeep {
  readonly #parts: UpkeepParts
  #walking: Promise<void> | null = null
  #restUntil = Number.NEGATIVE_INFINITY
  #isClosed = false
  #isTight = false
  /** Whether the last walk was for a server that is nearly full. */
  #wasForServer = false
  /** Environments to walk, the largest first, and when they were found. */
  #largest: string[] = []
  #foundAt = Number.NEGATIVE_INFINITY

  constructor(parts: UpkeepParts) {
    this.#parts = parts
  }

  /** Drops the counters of invented ids, of a project or of all projects of an environment. */
  freeSpace(tag: string): void {
    // Checks near a limit arrive all the time, and must not take every turn.
    if (this.#isTight && !this.#wasForServer) return
    if (this.#begin(async () => void (await this.#dropInvented(tag)))) this.#wasForServer = false
  }

  /** Called often with whether a server is nearly full: if so, the largest environments have to make space. */
  learnPressure(isTight: boolean): void {
    this.#isTight = isTight
    if (!isTight) this.#largest = []
    if (isTight && this.#begin(() => this.#relieve())) this.#wasForServer = true
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#walking
  }

  #begin(walk: () => Promise<void>): boolean {
    const { monotonic, log } = this.#parts
    const began = monotonic()
    if (this.#walking !== null || this.#isClosed || began < this.#restUntil) return false
    this.#walking = walk()
      .catch(error => log.warn({ err: error }, 'counters of invented ids could not be dropped'))
      .then(() => {
        const ended = monotonic()
        this.#restUntil = ended + Math.max(restMs, restTimes * (ended - began))
        this.#walking = null
      })
    return true
  }

  async #relieve(): Promise<void> {
    const { link, monotonic } = this.#parts
    if (this.#largest.length === 0) {
      if (monotonic() - this.#foundAt < findMs) return
      this.#largest = await findWholes(link, wholesMost)
      this.#foundAt = monotonic()
    }
    const [tag] = this.#largest
    if (tag === undefined) return
    const dropped = await this.#dropInvented(tag)
    if (dropped < keysMost) this.#largest.shift()
  }

  async #dropInvented(tag: string): Promise<number> {
    const { link, inventedOf, drop, log } = this.#parts
    let dropped = 0
    await walkKeys(link, patternOf(tag), async keys => {
      const subjects = keys.map(subjectOfKey).filter(subject => subject !== null)
      const invented = subjects.length === 0 ? [] : await inventedOf(subjects)
      for (const [own, some] of Map.groupBy(invented, tagOf)) await drop(own, some.map(keyOf))
      dropped += invented.length
      return dropped < keysMost && !this.#isClosed
    })
    if (dropped > 0) log.info({ keys: dropped }, 'counters of invented ids were dropped')
    return dropped
  }
}

/** `keyrail:{workspace:env}` names all projects of an environment. */
function patternOf(tag: string): string {
  const parts = tag.slice('keyrail:{'.length, -1).split(':')
  const [workspaceId, env] = parts
  return parts.length === 2 ? `keyrail:{${workspaceId}:*:${env}}:*` : `${tag}:*`
}
