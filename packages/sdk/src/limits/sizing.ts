import { COST_MAX } from './cost.ts'

/** What is held when a window ends is lost: with a twentieth of its demand that is about 5 %. */
const HORIZONS_PER_WINDOW = 20
/** A purchase leaves half of what remains to other servers. Near the limit requests are charged one by one. */
const SHARE_OF_REMAINING = 0.5
/** Answers take longer than usual now and then. */
const SLOWER = 1.25

/** Units demanded of one limit. What was demanded counts less with time: after a tenth of a window, a third. */
export class Demand {
  /** For how long units are charged ahead. */
  readonly horizonMs: number
  #units = 0
  #at = Number.NEGATIVE_INFINITY

  constructor(windowMs: number, maxAgeMs: number) {
    this.horizonMs = Math.min(windowMs / HORIZONS_PER_WINDOW, maxAgeMs)
  }

  add(units: number, now: number): void {
    this.#units = this.#unitsAt(now) + units
    this.#at = now
  }

  /** @returns units a ms */
  rate(now: number): number {
    return this.#unitsAt(now) / (2 * this.horizonMs)
  }

  #unitsAt(now: number): number {
    return this.#units * Math.exp((this.#at - now) / (2 * this.horizonMs))
  }
}

/**
 * Below this, units are charged before the last one is used: what is demanded until the answer comes, and two standard
 * deviations more, as of requests that come at random.
 *
 * @param rate units a ms
 */
export function lowLevel(rate: number, answerMs: number): number {
  const expected = rate * answerMs * SLOWER
  return expected + 2 * Math.sqrt(expected)
}

/** What the number of units ahead depends on. */
interface Supply {
  /** Units a ms. */
  rate: number
  horizonMs: number
  answerMs: number
  /** Units that the service had left. */
  remaining: number
  /** Units that are here or on their way, except what waits for them. */
  held: number
  /** Time until the window ends. */
  leftMs: number
  maxUnits: number
}

/** @returns how many units to charge for later requests, beside the cost of the present one, if there is one */
export function unitsAhead(
  cost: number,
  { rate, horizonMs, answerMs, remaining, held, leftMs, maxUnits }: Supply,
): number {
  // They would come too late.
  if (leftMs <= answerMs) return 0
  const size = rate * (horizonMs + answerMs)
  const wanted = Math.min(cost === 0 ? size : size - held, rate * leftMs - held, maxUnits - held)
  const allowed = Math.min((remaining - cost) * SHARE_OF_REMAINING, COST_MAX - cost)
  return Math.max(0, Math.floor(Math.min(wanted, allowed)))
}
