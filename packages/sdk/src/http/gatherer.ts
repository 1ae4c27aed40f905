import { type KeyrailError, passing } from '../runtime/errors.ts'
import { problemWithin } from './failure.ts'
import { parseMembers } from './json.ts'

/**
 * Asks the service with one call what one turn of the event loop asks, so that many requests at once cost about what one costs.
 * Nothing waits longer than for the end of its turn. Nothing is asked twice, because what has no answer may have been done; only
 * a service that does not know lists, and so has done nothing, is asked again one by one.
 */

export type Members = Readonly<Record<string, unknown>>

interface Waiting<Asked> {
  readonly asked: Asked
  readonly bytes: number
  resolve(answer: Members): void
  reject(error: unknown): void
}

/** How the service is asked about one, and about many. */
export interface GathererParts<Asked> {
  /** For the error of one: `A rate-limit check`. */
  readonly what: string
  /** @returns the text of the answer */
  readonly askOne: (asked: Asked) => Promise<string>
  /** @returns the text of the answer */
  readonly askList: (list: readonly Asked[]) => Promise<string>
  /** The answer of a list: what `object` says, and the member with an answer each. */
  readonly listed: readonly [object: string, member: string]
  /** The part of the body of a list. */
  readonly entryOf: (asked: Asked) => unknown
  /** Whether it is too large for a list. */
  readonly goesAlone?: (asked: Asked) => boolean
  /** Whether the service hangs: then one call at a time is sent, and no list waits for it. */
  readonly hangs?: () => boolean
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Runs work at the end of this turn of the event loop. */
  readonly later: (work: () => void) => void
  /** A call is sent. */
  readonly onCall?: () => void
  readonly onSuccess?: () => void
  /** A call failed, or the service refused one of a list. */
  readonly onFailure?: (error: KeyrailError) => void
}

/** The service takes 100 entries in 256 KiB. */
const LIST_MAX = 100
const LIST_MAX_BYTES = 250 * 1024
/** For how long a service that does not know lists is asked one by one: it may be upgraded. */
const NO_LISTS_MS = 60_000
const encoder = new TextEncoder()

export class Gatherer<Asked> {
  readonly #parts: GathererParts<Asked>
  #waiting: Waiting<Asked>[] = []
  #noListsUntil = Number.NEGATIVE_INFINITY

  constructor(parts: GathererParts<Asked>) {
    this.#parts = parts
  }

  /**
   * @returns the members of the service's verdict
   * @throws KeyrailError
   */
  ask(asked: Asked): Promise<Members> {
    const { entryOf, later, goesAlone } = this.#parts
    if (goesAlone?.(asked)) return this.askAlone(asked)
    const bytes = encoder.encode(JSON.stringify(entryOf(asked))).byteLength
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, bytes, resolve, reject })
      if (this.#waiting.length === 1) later(() => this.#send())
    })
  }

  /** Asks with a call of its own. */
  askAlone(asked: Asked): Promise<Members> {
    return new Promise((resolve, reject) => void this.#askOne({ asked, bytes: 0, resolve, reject }))
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const { now, hangs } = this.#parts
    const takesLists = now() >= this.#noListsUntil && hangs?.() !== true
    for (const list of listsOf(waiting)) {
      if (list.length > 1 && takesLists) void this.#askList(list)
      else for (const one of list) void this.#askOne(one)
    }
  }

  async #askOne(one: Waiting<Asked>): Promise<void> {
    const { askOne, onCall, onSuccess, onFailure } = this.#parts
    onCall?.()
    try {
      const text = await askOne(one.asked)
      onSuccess?.()
      one.resolve(parseMembers(text))
    } catch (error) {
      onFailure?.(error as KeyrailError)
      one.reject(error)
    }
  }

  async #askList(list: readonly Waiting<Asked>[]): Promise<void> {
    const { askList, now, onCall, onSuccess, onFailure } = this.#parts
    onCall?.()
    try {
      const answers = this.#read(await askList(list.map(({ asked }) => asked)), list.length)
      onSuccess?.()
      for (const [at, one] of list.entries()) this.#settle(one, answers[at])
    } catch (error) {
      if (knowsNoLists(error as KeyrailError)) {
        this.#noListsUntil = now() + NO_LISTS_MS
        for (const one of list) void this.#askOne(one)
        return
      }
      onFailure?.(error as KeyrailError)
      for (const one of list) one.reject(error)
    }
  }

  /** @throws KeyrailError `bad_response` */
  #read(text: string, length: number): readonly unknown[] {
    const [object, member] = this.#parts.listed
    const { object: answered, [member]: answers } = parseMembers(text)
    if (answered === object && Array.isArray(answers) && answers.length === length) return answers
    throw passing('bad_response', `The answer has no ${member}, one for each that was asked`)
  }

  #settle(one: Waiting<Asked>, answer: unknown): void {
    const members = (typeof answer === 'object' && answer !== null ? answer : {}) as Members
    const { error } = members
    if (typeof error !== 'object' || error === null) {
      one.resolve(members)
      return
    }
    const refused = problemWithin(this.#parts.what, error as Members)
    this.#parts.onFailure?.(refused)
    one.reject(refused)
  }
}

/** Splits by both bounds, in order. */
function listsOf<Asked>(waiting: readonly Waiting<Asked>[]): Waiting<Asked>[][] {
  const lists: Waiting<Asked>[][] = []
  let bytes = 0
  for (const one of waiting) {
    const last = lists.at(-1)
    bytes += one.bytes + 1
    if (last !== undefined && last.length < LIST_MAX && bytes <= LIST_MAX_BYTES) last.push(one)
    else {
      lists.push([one])
      bytes = one.bytes
    }
  }
  return lists
}

const knowsNoLists = ({ status, code }: KeyrailError): boolean => status === 404 && code === 'route_not_found'
