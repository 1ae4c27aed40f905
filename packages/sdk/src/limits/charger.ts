/**
 * Charges requests to limits; with `prepay` several units at once, so that later requests find theirs here. Units are charged
 * before they are used, so no request passes beyond a limit, whatever is lost. `pool.ts` holds units, `sizing.ts` says how
 * many to charge, `counters.ts` bounds how many counters are known, and `denials.ts` remembers denials.
 */

import { isFailedCall } from '../http/breaker.ts'
import { isOutage } from '../http/failure.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import type { Valid } from '../verify/verdict.ts'
import type { CheckAnswer, LimitState } from './answer.ts'
import { Counters, counterName } from './counters.ts'
import type { Denials } from './denials.ts'
import { Pool, type PrepayLimits, type WindowOfUnits } from './pool.ts'
import { isUnchecked } from './unchecked.ts'
import { denial, headersOf, type LimitSource, type LimitVerdict, retryAfter } from './verdict.ts'

/** Asks the service once. */
export type Ask = (key: Valid, rules: readonly RateLimit[], cost: number) => Promise<CheckAnswer>

interface World {
  ask: Ask
  denials: Denials
  now: () => number
  /** Whether a request passes although a call has failed. */
  passes: (error: unknown) => boolean
  /** Receives units that no request will use. */
  onUnused: (units: number) => void
}

/** One rule of a request. */
interface Part {
  rule: RateLimit
  /** Absent without `prepay`, and if this version cannot judge a rule of the key: all are charged for every request. */
  pool: Pool | undefined
  /** Whether the request has its units. */
  isPaid: boolean
  /** The window of the units, if they can be put back. */
  window?: WindowOfUnits | undefined
  /** The answer of the service. */
  state?: LimitState | undefined
}

/** The rules that one call is about. */
interface Purchase {
  parts: readonly Part[]
  units: number
}

export class Charger {
  readonly #pools = new Counters<Pool>(pool => pool.drop())
  readonly #prepay: PrepayLimits | undefined
  readonly #world: World

  constructor(world: World, prepay: PrepayLimits | undefined) {
    this.#world = world
    this.#prepay = prepay
  }

  get counters(): number {
    return this.#pools.size
  }

  /** Units that are here for later requests. */
  get unitsHeld(): number {
    let sum = 0
    for (const pool of this.#pools.values()) sum += pool.units(this.#world.now())
    return sum
  }

  /**
   * Takes the cost from every limit of the key, or from none.
   *
   * @throws what `ask` throws
   */
  async charge(key: Valid, rules: readonly RateLimit[], cost: number): Promise<LimitVerdict> {
    const now = this.#world.now()
    const isPooled = this.#prepay !== undefined && rules.every(isJudged)
    const parts = rules.map(
      (rule): Part => ({ rule, pool: isPooled ? this.#poolOf(key, rule) : undefined, isPaid: false }),
    )
    for (const part of parts) take(part, cost, now)
    const lacking = parts.filter(part => !part.isPaid)
    if (lacking.length === 0) {
      for (const { pool } of parts) pool?.demand(cost, now)
      return this.#allowed(parts, 'prepaid')
    }
    const lacked = lacking.map(({ rule }) => rule)
    const denied = this.#world.denials.find(key, lacked, cost, now)
    if (denied !== undefined) {
      this.#putBack(parts, cost, now)
      return denied
    }
    const purchases = this.#purchases(lacking, cost, now)
    for (const { pool } of parts) pool?.demand(cost, now)
    return this.#buy(key, parts, purchases, cost)
  }

  /** Limits with units ahead are charged alone: with others, their units would end in the shortest window. */
  #purchases(lacking: readonly Part[], cost: number, now: number): Purchase[] {
    const sized = lacking.map(part => ({ parts: [part], units: sizeOf(part, cost, now) }))
    const together = sized.filter(({ units }) => units === cost).flatMap(({ parts }) => parts)
    const ahead = sized.filter(({ units }) => units > cost)
    return together.length === 0 ? ahead : [{ parts: together, units: cost }, ...ahead]
  }

  async #buy(
    key: Valid,
    parts: readonly Part[],
    purchases: readonly Purchase[],
    cost: number,
  ): Promise<LimitVerdict> {
    const ended = await Promise.allSettled(purchases.map(purchase => this.#purchase(key, purchase, cost)))
    const now = this.#world.now()
    // Another request may have brought units meanwhile.
    for (const part of parts) if (!part.isPaid) take(part, cost, now)
    const answers = ended.flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
    if (parts.every(({ isPaid }) => isPaid)) {
      const isAsked = answers.some(({ allowed }) => allowed)
      return this.#allowed(
        parts,
        isAsked ? 'service' : 'prepaid',
        answers.length === 1 ? answers[0] : undefined,
      )
    }
    const errors = ended.flatMap(end => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const denials = answers.filter(({ allowed }) => !allowed)
    // A refusal of the service is worse than its absence.
    const error = errors.find(each => !isUnchecked(each)) ?? errors[0]
    if (denials.length > 0 || !this.#world.passes(error)) this.#putBack(parts, cost, now)
    if (denials.length > 0) return this.#denied(parts, denials)
    throw error
  }

  /**
   * Charges units, or if there are fewer what is left, or if others took that the cost alone. A denial charges nothing, so
   * asking again charges nothing twice.
   */
  async #purchase(key: Valid, { parts, units }: Purchase, cost: number): Promise<CheckAnswer> {
    const first = await this.#pay(key, { parts, units }, cost)
    if (first.allowed || units === cost) return first
    const left = first.limits?.[0]?.remaining ?? 0
    const second = left > cost && left < units ? await this.#pay(key, { parts, units: left }, cost) : first
    return second.allowed ? second : this.#pay(key, { parts, units: cost }, cost)
  }

  async #pay(key: Valid, { parts, units }: Purchase, cost: number): Promise<CheckAnswer> {
    const { ask, denials, now, onUnused } = this.#world
    const rules = parts.map(({ rule }) => rule)
    const askedAt = now()
    const ahead = units - cost
    const expect = (coming: number) => {
      for (const { pool } of parts) pool?.expect(coming)
    }
    expect(ahead)
    try {
      const answer = await ask(key, rules, units)
      const at = now()
      for (const [i, part] of parts.entries()) {
        const state = answer.limits?.[i]
        part.state = state
        const window = part.pool?.learn(state, answer.allowed ? ahead : 0, askedAt, at)
        if (answer.allowed) Object.assign(part, { isPaid: true, window })
      }
      if (!answer.allowed && units === cost) denials.add(key, rules, cost, askedAt, answer)
      return answer
    } catch (error) {
      // It may have been charged.
      if (isOutage(error) && isFailedCall(error)) onUnused(units * parts.length)
      throw error
    } finally {
      expect(-ahead)
    }
  }

  #putBack(parts: readonly Part[], cost: number, now: number): void {
    for (const { pool, isPaid, window } of parts) {
      if (window !== undefined) pool?.putBack(cost, window, now)
      else if (isPaid) this.#world.onUnused(cost)
    }
  }

  #poolOf(key: Valid, rule: RateLimit): Pool {
    const name = counterName(key, rule)
    const known = this.#pools.get(name)
    if (known !== undefined) return known
    const pool = new Pool(rule, this.#prepay as PrepayLimits, this.#world.onUnused)
    this.#pools.set(name, pool)
    return pool
  }

  #allowed(parts: readonly Part[], source: LimitSource, answer?: CheckAnswer): LimitVerdict {
    return { allowed: true, code: 'allowed', source, ...this.#numbers(parts, answer) }
  }

  #denied(parts: readonly Part[], denials: readonly CheckAnswer[]): LimitVerdict {
    const waits = denials.map(({ retryAfterMs }) => retryAfterMs ?? Number.POSITIVE_INFINITY)
    const longest = Math.max(...waits)
    const { headers, limits } = this.#numbers(parts, denials[0])
    return denial(
      denials.flatMap(({ deniedBy }) => deniedBy),
      {
        headers: { ...headers, ...retryAfter(Number.isFinite(longest) ? longest : null) },
        limits,
        source: 'service',
      },
    )
  }

  /** The limits, if all of them are known, and the headers that name them. */
  #numbers(parts: readonly Part[], answer: CheckAnswer | undefined) {
    const now = this.#world.now()
    const limits = parts.flatMap(({ pool, state }) => (pool?.isKnown ? [pool.state(now)] : (state ?? [])))
    const headers = answer?.headers ?? {}
    if (limits.length < parts.length) return { headers }
    const isPooled = parts.some(({ pool }) => pool?.isKnown)
    return { headers: isPooled ? headersOf(parts, limits) : headers, limits }
  }
}

/** Cost 0 looks at what the service has. */
const sizeOf = ({ pool }: Part, cost: number, now: number): number =>
  cost === 0 ? 0 : (pool?.size(cost, now) ?? cost)

/** Takes the units of one rule from its pool. */
function take(part: Part, cost: number, now: number): void {
  if (cost === 0) return
  part.window = part.pool?.take(cost, now)
  part.isPaid = part.window !== undefined
}

/** Whether this version knows what a unit of the rule means, and for how long. */
const isJudged = (rule: RateLimit): boolean => {
  const { id, limit, windowMs, algorithm, scope } = (rule ?? {}) as Partial<RateLimit>
  return (
    typeof id === 'string' &&
    /^[\w.-]+$/.test(id) &&
    isCount(limit) &&
    isCount(windowMs) &&
    (algorithm === 'fixed' || algorithm === 'sliding') &&
    (scope === 'key' || scope === 'tenant')
  )
}
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0
