import { Company } from './company.ts'

/** How many may hold a place at once, how many of them one party, and how many of one party may wait. */
export interface FairLimits {
  readonly places: number
  readonly placesOfOne: number
  /** How many of them one party may take while others have been here in the last second; unset: as many as ever. */
  readonly placesBesideOthers?: number
  readonly waitingOfOne: number
  /** When so many wait, only the first of a party may join them, up to four times as many; unset: no such limit. */
  readonly waitingOfAll?: number
}

/** A place, or the wait for one. */
export interface Turn {
  /** Null when the place is held already; otherwise settles when it is. */
  readonly come: Promise<void> | null
  /** Gives the place back, or stops waiting for it. A second call does nothing. */
  end(): void
}

interface Waiter {
  begin(): void
}

interface Party {
  holding: number
  /** In the order in which they came. */
  readonly waiting: Set<Waiter>
}

/**
 * Shares places among parties. Parties that wait take turns, one place a turn; within a party the first comes first. A
 * party never holds more than its share, even while other places are free: otherwise a newcomer would wait for whatever
 * the first one does there. Its share is smaller while others are about: what works at the places shares a machine, and a
 * newcomer would find a place at once and then wait for the machine.
 */
export class FairQueue {
  readonly #limits: FairLimits
  /** Those who hold a place or wait for one; nobody else leaves a trace. */
  readonly #parties = new Map<string, Party>()
  /** Parties that wait and may hold another place; the first is served next. */
  readonly #ring = new Set<string>()
  #free: number
  #waiting = 0
  readonly #company: Company

  /** @param now a monotonic clock, in milliseconds. */
  constructor(limits: FairLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#free = limits.places
    this.#company = new Company(now)
  }

  /**
   * @param isUnnoticed whether the others shall not take less because this one is about.
   * @returns null when as many wait already as may.
   */
  take(name: string, isUnnoticed = false): Turn | null {
    if (!isUnnoticed) this.#company.note(name)
    const party = this.#parties.get(name) ?? { holding: 0, waiting: new Set() }
    if (this.#free > 0 && party.waiting.size === 0 && party.holding < this.#shareOf(name)) {
      this.#parties.set(name, party)
      this.#hold(party)
      return { come: null, end: once(() => this.#giveBack(name, party)) }
    }
    if (!this.#mayWait(party)) return null
    this.#parties.set(name, party)
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { begin: resolve }
    party.waiting.add(waiter)
    this.#waiting += 1
    this.#enter(name, party)
    return {
      come: promise,
      end: once(() => {
        if (party.waiting.has(waiter)) this.#leave(name, party, waiter)
        else this.#giveBack(name, party)
      }),
    }
  }

  /** How many wait, and of how many parties. */
  depth(): { waiting: number; parties: number } {
    let parties = 0
    if (this.#waiting > 0)
      for (const { waiting } of this.#parties.values()) parties += Number(waiting.size > 0)
    return { waiting: this.#waiting, parties }
  }

  #shareOf(name: string): number {
    const { placesOfOne, placesBesideOthers = placesOfOne } = this.#limits
    if (placesBesideOthers === placesOfOne) return placesOfOne
    return this.#company.has(name) ? placesBesideOthers : placesOfOne
  }

  #mayWait({ waiting }: Party): boolean {
    const { waitingOfOne, waitingOfAll = Number.POSITIVE_INFINITY } = this.#limits
    const room = waiting.size === 0 ? 4 * waitingOfAll : waitingOfAll
    return waiting.size < waitingOfOne && this.#waiting < room
  }

  #hold(party: Party): void {
    this.#free -= 1
    party.holding += 1
  }

  #giveBack(name: string, party: Party): void {
    this.#free += 1
    party.holding -= 1
    this.#enter(name, party)
    this.#forget(name, party)
    this.#serve()
  }

  #leave(name: string, party: Party, waiter: Waiter): void {
    party.waiting.delete(waiter)
    this.#waiting -= 1
    if (party.waiting.size === 0) this.#ring.delete(name)
    this.#forget(name, party)
  }

  /** At the end of the round, unless it has its place there already. */
  #enter(name: string, party: Party): void {
    if (party.waiting.size > 0 && party.holding < this.#shareOf(name)) this.#ring.add(name)
  }

  #forget(name: string, party: Party): void {
    if (party.holding === 0 && party.waiting.size === 0) this.#parties.delete(name)
  }

  #serve(): void {
    while (this.#free > 0) {
      const [name] = this.#ring
      if (name === undefined) return
      this.#ring.delete(name)
      const party = this.#parties.get(name)
      const [next] = party?.waiting ?? []
      if (party === undefined || next === undefined) continue
      party.waiting.delete(next)
      this.#waiting -= 1
      this.#hold(party)
      this.#enter(name, party)
      next.begin()
    }
  }
}

function once(end: () => void): () => void {
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    end()
  }
}
