import type { RateLimit } from '../store/rate-limits.ts'
import type { LimitState } from './answer.ts'
import { Demand, lowLevel, unitsAhead } from './sizing.ts'

/** How far units are charged ahead. */
export interface PrepayLimits {
  maxUnits: number
  maxAgeMs: number
}

/** Identifies the window that units belong to. */
export type WindowOfUnits = number

/** A request that waits for units. */
interface Waiting {
  cost: number
  /** Undefined: there were too few. */
  serve(window: WindowOfUnits | undefined): void
}

/**
 * Units of one counter that the service has charged and no request has used. They end when their window ends at the latest:
 * counted from before the question, so never after the service's own end of the window.
 */
export class Pool {
  readonly #rule: RateLimit
  readonly #demand: Demand
  readonly #maxUnits: number
  readonly #onUnused: (units: number) => void
  #units = 0
  /** Units on their way, except what the requests that sent for them use. */
  #coming = 0
  #waiting: Waiting[] = []
  /** Units of those that wait. */
  #awaited = 0
  /** Whether the service says what is left. */
  #isKnown = false
  /** What the service had left when it last answered, and when it was asked. */
  #remaining = 0
  #askedAt = Number.NEGATIVE_INFINITY
  #endsAt = Number.NEGATIVE_INFINITY
  #window: WindowOfUnits = 0
  #isDropped = false

  /** @param onUnused receives units that no request will use */
  constructor(rule: RateLimit, { maxUnits, maxAgeMs }: PrepayLimits, onUnused: (units: number) => void) {
    this.#rule = rule
    this.#demand = new Demand(rule.windowMs, maxAgeMs)
    this.#maxUnits = maxUnits
    this.#onUnused = onUnused
  }

  get isKnown(): boolean {
    return this.#isKnown
  }

  units(now: number): number {
    this.#settle(now)
    return this.#units
  }

  /** @returns the window of the units; undefined if there are too few, and then none is taken */
  take(cost: number, now: number): WindowOfUnits | undefined {
    this.#settle(now)
    if (this.#units < cost) return undefined
    this.#units -= cost
    return this.#window
  }

  /** Returns units that a request took and did not use, unless their window has ended. */
  putBack(cost: number, window: WindowOfUnits, now: number): void {
    this.#settle(now)
    if (window === this.#window && !this.#isDropped) this.#units += cost
    else this.#onUnused(cost)
  }

  /** Whether the units on their way are enough for one more request. */
  covers(cost: number): boolean {
    return this.#coming > 0 && this.#units + this.#coming - this.#awaited >= cost
  }

  /** Waits for the units on their way. @returns their window; undefined if they do not come, or are too few */
  wait(cost: number): Promise<WindowOfUnits | undefined> {
    this.#awaited += cost
    return new Promise(serve => this.#waiting.push({ cost, serve }))
  }

  /** Whether few units are left and none are on their way, so that more are charged before a request finds none. */
  isLow(now: number, answerMs: number): boolean {
    this.#settle(now)
    return this.#coming === 0 && this.#units < lowLevel(this.#demand.rate(now), answerMs)
  }

  /**
   * @param cost that of the request which finds too few; 0 if none does
   * @returns how many units to charge for later requests
   */
  ahead(cost: number, now: number, answerMs: number): number {
    this.#settle(now)
    return unitsAhead(cost, {
      rate: this.#demand.rate(now),
      horizonMs: this.#demand.horizonMs,
      answerMs,
      remaining: this.#remaining - this.#coming,
      held: this.#units + this.#coming - this.#awaited,
      // The end of a window that has just begun is unknown, and far.
      leftMs: now < this.#endsAt ? this.#endsAt - now : this.#rule.windowMs,
      maxUnits: this.#maxUnits,
    })
  }

  demand(cost: number, now: number): void {
    this.#demand.add(cost, now)
  }

  /** @param units those for later requests of a call that is sent */
  expect(units: number): void {
    this.#coming += units
  }

  /** The units of a call are here or do not come: serves those that wait, in their order, and lets go whom no other call covers. */
  expectNoMore(units: number, now: number): void {
    this.#coming -= units
    while (this.#waiting.length > 0) {
      const [{ cost, serve }] = this.#waiting as [Waiting]
      const window = this.take(cost, now)
      if (window === undefined && this.#awaited <= this.#units + this.#coming) return
      this.#waiting.shift()
      this.#awaited -= cost
      serve(window)
    }
  }

  /**
   * Reads an answer, and adds the units that it charged.
   *
   * @param state undefined if the answer does not say: then nothing is charged ahead until one does
   * @param askedAt when the service was asked
   * @returns the window of the units; undefined if it has ended, and then none is added
   */
  learn(
    state: LimitState | undefined,
    units: number,
    askedAt: number,
    now: number,
  ): WindowOfUnits | undefined {
    this.#settle(now)
    const { limit, windowMs } = this.#rule
    const endsAt = state === undefined ? now : askedAt + Math.min(state.resetMs, windowMs)
    this.#isKnown = state !== undefined
    if (state === undefined) this.#remaining = 0
    if (state === undefined || endsAt <= now || this.#isDropped) {
      this.#onUnused(units)
      return undefined
    }
    // The service's clock was set forward: what is held belongs to a window that is over.
    if (endsAt > this.#endsAt + windowMs / 2) this.#end()
    if (askedAt >= this.#askedAt) {
      this.#askedAt = askedAt
      this.#endsAt = endsAt
      this.#remaining = Math.min(state.remaining, limit)
    }
    this.#units += units
    return this.#window
  }

  /** The counter as this server sees it. Its own units are left too. */
  state(now: number): LimitState {
    const resetMs = Math.max(0, Math.ceil(this.#endsAt - now))
    return { id: this.#rule.id, remaining: this.#remaining + this.#units, resetMs }
  }

  drop(): void {
    this.#end()
    this.#isDropped = true
  }

  #settle(now: number): void {
    if (now < this.#endsAt) return
    this.#end()
    // A new fixed window has spent nothing yet; a sliding one continues.
    if (this.#isKnown && this.#rule.algorithm === 'fixed') this.#remaining = this.#rule.limit
  }

  #end(): void {
    if (this.#units > 0) this.#onUnused(this.#units)
    this.#units = 0
    this.#window += 1
  }
}
