import type { HttpCaller } from '../http/call.ts'
import type { RateLimitCheck } from '../http/call-types.ts'
import { problemWithin } from '../http/failure.ts'
import { parseMembers } from '../http/json.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { badAnswer } from './answer.ts'

/**
 * Asks the service about the checks of one turn of the event loop with one call, so that many requests at once cost about what
 * one costs. No check waits longer than for the end of its turn. Nothing is asked twice, because a check without an answer may
 * have been charged; only a service that does not know lists, and so has charged nothing, is asked again one by one.
 */

type Members = Readonly<Record<string, unknown>>

interface Waiting {
  readonly body: RateLimitCheck
  readonly bytes: number
  resolve(answer: Members): void
  reject(error: unknown): void
}

interface World {
  readonly call: HttpCaller
  readonly timeoutMs: number
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number
  /** Runs work at the end of this turn of the event loop. */
  readonly later: (work: () => void) => void
  /** A call is sent. */
  readonly onCall: () => void
  readonly onSuccess: () => void
  /** A call failed, or the service refused one check of a list. */
  readonly onFailure: (error: KeyrailError) => void
}

/** The service takes 100 checks in 256 KiB. */
const LIST_MAX = 100
const LIST_MAX_BYTES = 250 * 1024
const ANSWER_MAX_BYTES = 64 * 1024
const LIST_ANSWER_MAX_BYTES = 2 * 1024 * 1024
/** For how long a service that does not know lists is asked one by one: it may be upgraded. */
const NO_LISTS_MS = 60_000

export class Gatherer {
  readonly #world: World
  #waiting: Waiting[] = []
  #noListsUntil = Number.NEGATIVE_INFINITY

  constructor(world: World) {
    this.#world = world
  }

  /**
   * @returns the members of the service's verdict
   * @throws KeyrailError
   */
  ask(body: RateLimitCheck): Promise<Members> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, bytes: JSON.stringify(body).length, resolve, reject })
      if (this.#waiting.length === 1) this.#world.later(() => this.#send())
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const list of listsOf(waiting)) {
      if (list.length > 1 && this.#world.now() >= this.#noListsUntil) void this.#askList(list)
      else for (const one of list) void this.#askOne(one)
    }
  }

  async #askOne(one: Waiting): Promise<void> {
    const { call, timeoutMs, onCall, onSuccess, onFailure } = this.#world
    onCall()
    try {
      const path = '/v1/ratelimit/check'
      const { text } = await call({
        method: 'POST',
        path,
        body: one.body,
        accepts: [200],
        timeoutMs,
        maxBytes: ANSWER_MAX_BYTES,
      })
      onSuccess()
      one.resolve(parseMembers(text))
    } catch (error) {
      onFailure(error as KeyrailError)
      one.reject(error)
    }
  }

  async #askList(list: readonly Waiting[]): Promise<void> {
    const { call, timeoutMs, now, onCall, onSuccess, onFailure } = this.#world
    onCall()
    try {
      const path = '/v1/ratelimit/checks'
      const body = { checks: list.map(one => one.body) }
      const { text } = await call({
        method: 'POST',
        path,
        body,
        accepts: [200],
        timeoutMs,
        maxBytes: LIST_ANSWER_MAX_BYTES,
      })
      const answers = readList(text, list.length)
      onSuccess()
      for (const [at, one] of list.entries()) this.#settle(one, answers[at])
    } catch (error) {
      if (knowsNoLists(error)) {
        this.#noListsUntil = now() + NO_LISTS_MS
        for (const one of list) void this.#askOne(one)
        return
      }
      onFailure(error as KeyrailError)
      for (const one of list) one.reject(error)
    }
  }

  #settle(one: Waiting, answer: unknown): void {
    const members = (typeof answer === 'object' && answer !== null ? answer : {}) as Members
    const { error } = members
    if (typeof error !== 'object' || error === null) {
      one.resolve(members)
      return
    }
    const refused = problemWithin('A rate-limit check', error as Members)
    this.#world.onFailure(refused)
    one.reject(refused)
  }
}

/** Splits by both bounds, in order. */
function listsOf(waiting: readonly Waiting[]): Waiting[][] {
  const lists: Waiting[][] = []
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

const knowsNoLists = (error: unknown): boolean =>
  error instanceof KeyrailError && error.status === 404 && error.code === 'route_not_found'

/** @throws KeyrailError `bad_response` */
function readList(text: string, length: number): readonly unknown[] {
  const { object, checks } = parseMembers(text)
  if (object !== 'ratelimit_checks' || !Array.isArray(checks) || checks.length !== length)
    throw badAnswer('checks')
  return checks
}
