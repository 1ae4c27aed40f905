import { isFailedCall } from '../http/breaker.ts'
import { isOutage } from '../http/failure.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import type { Valid } from '../verify/verdict.ts'
import type { CheckAnswer } from './answer.ts'
import type { Denials } from './denials.ts'
import type { Part } from './part.ts'

/** Asks the service once. */
export type Ask = (key: Valid, rules: readonly RateLimit[], cost: number) => Promise<CheckAnswer>

export interface BuyerWorld {
  readonly ask: Ask
  readonly denials: Denials
  readonly now: () => number
  /** Receives units that no request will use. */
  readonly onUnused: (units: number) => void
  /**
   * Runs work that no request waits for. Undefined where a request must neither leave work behind nor wait for the call of
   * another: then only requests that find no units charge some ahead.
   */
  readonly background: ((work: () => void) => void) | undefined
}

/** The rules that one call is about. */
export interface Purchase {
  readonly parts: readonly Part[]
  readonly units: number
}

/** One answer counts an eighth. */
const SMOOTHING = 1 / 8
/**
 * After one call without an answer only a request that finds no units buys more than it needs; after two none does, so that
 * no request waits for the call of another while the service hangs.
 */
const FAILED_MAX = 1

/** Buys units of the service: those of a request, and those of later requests, of which the pools say how many. */
export class Buyer {
  readonly #world: BuyerWorld
  /** How long an answer takes, smoothed. */
  #answerMs: number | undefined
  /** Calls in a row without an answer. */
  #failed = 0

  constructor(world: BuyerWorld) {
    this.#world = world
  }

  /** Whether a request may wait for what another one has asked for. */
  covers({ pool }: Part, cost: number): boolean {
    return cost > 0 && this.#world.background !== undefined && pool?.covers(cost) === true
  }

  /** Limits with units ahead are charged alone: with others, their units would end in the shortest window. */
  purchasesFor(lacking: readonly Part[], cost: number, now: number): Purchase[] {
    const sized = lacking.map(part => {
      // Cost 0 looks at what the service has.
      const ahead = cost === 0 ? 0 : this.#aheadOf(part, cost, now)
      return { parts: [part], units: cost + ahead }
    })
    const together = sized.filter(({ units }) => units === cost).flatMap(({ parts }) => parts)
    const ahead = sized.filter(({ units }) => units > cost)
    return together.length === 0 ? ahead : [{ parts: together, units: cost }, ...ahead]
  }

  /**
   * Charges units, or if there are fewer what is left, or if others took that the cost alone. A denial charges nothing, so
   * asking again charges nothing twice.
   *
   * @param cost that of the request; 0 if all units are for later ones
   * @throws what `ask` throws
   */
  async buy(key: Valid, { parts, units }: Purchase, cost: number): Promise<CheckAnswer> {
    if (units === cost) return this.#pay(key, { parts, units }, cost)
    const answer = await this.#buyAhead(key, { parts, units }, cost)
    return answer.allowed || cost === 0 ? answer : this.#pay(key, { parts, units: cost }, cost)
  }

  /** Buys in the background for each limit that has few units left, one purchase at a time. */
  refill(key: Valid, parts: readonly Part[], now: number): void {
    const { background } = this.#world
    if (background === undefined || this.#failed > 0) return
    for (const part of parts) {
      if (!part.pool?.isLow(now, this.#answerMs ?? 0)) continue
      const units = this.#aheadOf(part, 0, now)
      if (units === 0) continue
      const own: Part = { rule: part.rule, pool: part.pool, isPaid: false }
      // `ask` has reported why; a request that finds no units asks for itself.
      background(() => void this.buy(key, { parts: [own], units }, 0).catch(() => {}))
    }
  }

  #aheadOf({ pool }: Part, cost: number, now: number): number {
    if (pool === undefined || this.#failed > FAILED_MAX) return 0
    return pool.ahead(cost, now, this.#answerMs ?? 0)
  }

  /** Takes what is left if there are fewer. */
  async #buyAhead(key: Valid, purchase: Purchase, cost: number): Promise<CheckAnswer> {
    const first = await this.#payAhead(key, purchase, cost)
    const { parts, units } = purchase
    const left = first.limits?.[0]?.remaining ?? 0
    return first.allowed || left <= cost || left >= units
      ? first
      : this.#payAhead(key, { parts, units: left }, cost)
  }

  /** Other requests may wait for what is ahead. */
  async #payAhead(key: Valid, purchase: Purchase, cost: number): Promise<CheckAnswer> {
    const ahead = purchase.units - cost
    for (const { pool } of purchase.parts) pool?.expect(ahead)
    try {
      return await this.#pay(key, purchase, cost)
    } finally {
      const now = this.#world.now()
      for (const { pool } of purchase.parts) pool?.expectNoMore(ahead, now)
    }
  }

  async #pay(key: Valid, { parts, units }: Purchase, cost: number): Promise<CheckAnswer> {
    const { ask, denials, now, onUnused } = this.#world
    const rules = parts.map(({ rule }) => rule)
    const askedAt = now()
    try {
      const answer = await ask(key, rules, units)
      const at = now()
      this.#noteAnswer(at - askedAt)
      for (const [i, part] of parts.entries()) {
        const state = answer.limits?.[i]
        part.state = state
        const window = part.pool?.learn(state, answer.allowed ? units - cost : 0, askedAt, at)
        if (answer.allowed) Object.assign(part, { isPaid: true, window })
      }
      if (!answer.allowed && units === cost) denials.add(key, rules, cost, askedAt, answer)
      return answer
    } catch (error) {
      this.#failed += 1
      // It may have been charged.
      if (isOutage(error) && isFailedCall(error)) onUnused(units * parts.length)
      throw error
    }
  }

  #noteAnswer(took: number): void {
    this.#failed = 0
    this.#answerMs =
      this.#answerMs === undefined ? took : this.#answerMs + (took - this.#answerMs) * SMOOTHING
  }
}
