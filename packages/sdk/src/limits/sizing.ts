import { COST_MAX } from './cost.ts'

/** What is held when a window ends is lost: with a twentieth of its demand that is about 5 %. */
const HORIZONS_PER_WINDOW = 20
/** A purchase leaves four fifths of the limit to other servers. Near the limit requests are charged one by one. */
const SHARE_OF_REMAINING = 0.2

/** Units demanded of one limit in the last `horizonMs`, counted as in a sliding window: the units to hold for as long again. */
export class Demand {
  readonly horizonMs: number
  #start = Number.NEGATIVE_INFINITY
  #previous = 0
  #current = 0

  constructor(windowMs: number, maxAgeMs: number) {
    this.horizonMs = Math.min(windowMs / HORIZONS_PER_WINDOW, maxAgeMs)
  }

  add(units: number, now: number): void {
    this.#roll(now)
    this.#current += units
  }

  units(now: number): number {
    this.#roll(now)
    return this.#current + this.#previous * (1 - (now - this.#start) / this.horizonMs)
  }

  #roll(now: number): void {
    const elapsed = now - this.#start
    if (elapsed < this.horizonMs) return
    const isNext = elapsed < 2 * this.horizonMs
    this.#previous = isNext ? this.#current : 0
    this.#current = 0
    this.#start = isNext ? this.#start + this.horizonMs : now
  }
}

/**
 * How many units a request charges: its cost, and units ahead of later requests.
 *
 * @param demand units that are expected soon
 * @param remaining units that the service had left
 * @param held units that are here or on their way
 */
export function unitsToCharge(
  cost: number,
  { demand, remaining, held, maxUnits }: Record<'demand' | 'remaining' | 'held' | 'maxUnits', number>,
): number {
  const ahead = Math.floor(Math.min(demand, remaining * SHARE_OF_REMAINING, maxUnits) - held)
  return Math.min(COST_MAX, cost + Math.max(0, ahead))
}
