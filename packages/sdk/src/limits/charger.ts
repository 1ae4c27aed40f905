/**
 * Charges requests to limits; with `prepay` several units at once, so that later requests find theirs here. Units are charged
 * before they are used, so no request passes beyond a limit, whatever is lost. `pool.ts` holds units, `sizing.ts` says how
 * many to charge and when, `buyer.ts` buys them, `part.ts` is one limit of a request, `prepay.ts` says which limits are charged
 * ahead, `counters.ts` bounds how many counters are known, and `denials.ts` remembers denials.
 */

import type { RateLimit } from '../store/rate-limits.ts'
import type { Valid } from '../verify/verdict.ts'
import type { CheckAnswer } from './answer.ts'
import { Buyer, type BuyerWorld } from './buyer.ts'
import { Counters, counterName } from './counters.ts'
import { awaitUnits, type Part, take } from './part.ts'
import { Pool } from './pool.ts'
import type { Prepay } from './prepay.ts'
import { isUnchecked } from './unchecked.ts'
import { denial, headersOf, type LimitSource, type LimitVerdict, retryAfter } from './verdict.ts'

interface World extends BuyerWorld {
  /** Whether a request passes although a call has failed. */
  readonly passes: (error: unknown) => boolean
}

/** A request that is charged. */
interface Charge {
  readonly key: Valid
  readonly parts: readonly Part[]
  readonly cost: number
}

/** What the calls of one request ended with. */
interface Outcome {
  readonly answers: CheckAnswer[]
  readonly errors: unknown[]
}

export class Charger {
  readonly #pools = new Counters<Pool>(pool => pool.drop())
  readonly #prepay: Prepay | undefined
  readonly #world: World
  readonly #buyer: Buyer

  constructor(world: World, prepay: Prepay | undefined) {
    this.#world = world
    this.#buyer = new Buyer(world)
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
    const isPooled = this.#prepay?.covers(key.env, rules) === true
    const parts = rules.map(
      (rule): Part => ({ rule, pool: isPooled ? this.#poolOf(key, rule) : undefined, isPaid: false }),
    )
    const charge = { key, parts, cost }
    for (const part of parts) take(part, cost, now)
    const denied = this.#remembered(charge, now)
    if (denied !== undefined) return denied
    for (const { pool } of parts) pool?.demand(cost, now)
    const lacking = parts.filter(part => !part.isPaid)
    const paid = parts.filter(part => part.isPaid)
    this.#buyer.refill(key, paid, now)
    return lacking.length === 0 ? this.#allowed(parts, 'prepaid') : this.#obtain(charge, lacking)
  }

  /** A denial that still holds for a limit which is not paid. */
  #remembered({ key, parts, cost }: Charge, now: number): LimitVerdict | undefined {
    const lacking = parts.filter(part => !part.isPaid)
    if (lacking.length === 0) return undefined
    const rules = lacking.map(({ rule }) => rule)
    const denied = this.#world.denials.find(key, rules, cost, now)
    if (denied !== undefined) this.#putBack(parts, cost, now)
    return denied
  }

  /** Waits for units that are on their way where they are enough, and buys the others; then what did not come. */
  async #obtain(charge: Charge, lacking: readonly Part[]): Promise<LimitVerdict> {
    const { cost } = charge
    const waits = lacking.filter(part => this.#buyer.covers(part, cost))
    const [outcome] = await Promise.all([
      this.#buy(
        charge,
        lacking.filter(part => !waits.includes(part)),
      ),
      ...waits.map(part => awaitUnits(part, cost)),
    ])
    const missing = waits.filter(part => !part.isPaid)
    const isDecided = outcome.errors.length > 0 || outcome.answers.some(({ allowed }) => !allowed)
    if (missing.length === 0 || isDecided) return this.#conclude(charge, outcome)
    const now = this.#world.now()
    for (const part of missing) take(part, cost, now)
    const denied = this.#remembered(charge, now)
    if (denied !== undefined) return denied
    const more = await this.#buy(
      charge,
      missing.filter(part => !part.isPaid),
    )
    return this.#conclude(charge, {
      answers: [...outcome.answers, ...more.answers],
      errors: more.errors,
    })
  }

  async #buy({ key, cost }: Charge, lacking: readonly Part[]): Promise<Outcome> {
    const purchases = this.#buyer.purchasesFor(lacking, cost, this.#world.now())
    const ended = await Promise.allSettled(purchases.map(each => this.#buyer.buy(key, each, cost)))
    return {
      answers: ended.flatMap(end => (end.status === 'fulfilled' ? [end.value] : [])),
      errors: ended.flatMap(end => (end.status === 'rejected' ? [end.reason as unknown] : [])),
    }
  }

  #conclude({ parts, cost }: Charge, { answers, errors }: Outcome): LimitVerdict {
    const now = this.#world.now()
    // Another request may have brought units meanwhile.
    for (const part of parts) if (!part.isPaid) take(part, cost, now)
    if (parts.every(({ isPaid }) => isPaid)) {
      const isAsked = answers.some(({ allowed }) => allowed)
      return this.#allowed(
        parts,
        isAsked ? 'service' : 'prepaid',
        answers.length === 1 ? answers[0] : undefined,
      )
    }
    const denials = answers.filter(({ allowed }) => !allowed)
    // A refusal of the service is worse than its absence.
    const error = errors.find(each => !isUnchecked(each)) ?? errors[0]
    if (denials.length > 0 || !this.#world.passes(error)) this.#putBack(parts, cost, now)
    if (denials.length > 0) return this.#denied(parts, denials)
    throw error
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
    const pool = new Pool(rule, (this.#prepay as Prepay).limits, this.#world.onUnused)
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
