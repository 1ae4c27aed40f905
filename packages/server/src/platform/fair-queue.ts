import { Company } from './company.ts'

/** How many callers may hold a place at once, in total and per party, and how many of one party may wait. */
export interface FairLimits {
  readonly places: number
  readonly placesOfOne: number
  /** What one party may take if others were active in the last second; unset: the same. */
  readonly besideOthers?: BesideOthers
  readonly waitingOfOne: number
  /**
   * Once this many wait, only the first caller of a party may join, up to four times as many; unset: no such
   * limit.
   */
  readonly waitingOfAll?: number
}

interface BesideOthers {
  readonly places: number
  /**
   * Work that lasts longer than this, in milliseconds, waits for something other than the machine, such as a
   * lock. It no longer counts, so that it does not delay its own party.
   */
  readonly slowMs: number
}

/** How a party affects the others. */
export interface Manners {
  /** The others keep their whole share while it is active. */
  readonly isUnnoticed?: boolean
  /** It keeps its whole share while others are active. */
  readonly isUnsparing?: boolean
}

/** A place, or the wait for one. */
export interface Turn {
  /** Null if the place is held already; otherwise it settles when it is. */
  readonly come: Promise<void> | null
  /** Gives the place back, or stops waiting for it. A second call does nothing. */
  end(): void
}

interface Waiter {
  begin(): void
}

interface Holder {
  readonly since: number
}

interface Party extends Pick<Manners, 'isUnsparing'> {
  readonly holding: Set<Holder>
  /** In order of arrival. */
  readonly waiting: Set<Waiter>
  /** Checks again whether the party may hold another place. */
  timer: NodeJS.Timeout | undefined
}

/**
 * Shares places among parties. Waiting parties take turns, one place per turn; within a party, callers are
 * served in order. A party never holds more than its share, even while other places are free, because a newcomer
 * would have to wait until it ends. Its share is smaller while others are active: the work at all places shares
 * a machine, so a newcomer with a place would still wait for the machine.
 */
export class FairQueue {
  readonly #limits: FairLimits
  /** The parties that hold a place or wait for one; no others are remembered. */
  readonly #parties = new Map<string, Party>()
  /** The parties that wait and may hold another place; the first one is served next. */
  readonly #ring = new Set<string>()
  #free: number
  #waiting = 0
  readonly #company: Company
  readonly #now: () => number

  /** @param now a monotonic clock, in milliseconds. */
  constructor(limits: FairLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
    this.#free = limits.places
    this.#company = new Company(now)
  }

  /** @returns null if no more may wait. */
  take(name: string, { isUnnoticed = false, isUnsparing = false }: Manners = {}): Turn | null {
    if (!isUnnoticed) this.#company.note(name)
    const party = this.#parties.get(name) ?? {
      isUnsparing,
      holding: new Set(),
      waiting: new Set(),
      timer: undefined,
    }
    if (this.#free > 0 && party.waiting.size === 0 && this.#mayHold(name, party)) {
      this.#parties.set(name, party)
      const holder = this.#hold(party)
      return { come: null, end: once(() => this.#giveBack(name, party, holder)) }
    }
    if (!this.#mayWait(party)) return null
    this.#parties.set(name, party)
    const { promise, resolve } = Promise.withResolvers<void>()
    let holder: Holder | null = null
    const waiter: Waiter = {
      begin: () => {
        holder = this.#hold(party)
        resolve()
      },
    }
    party.waiting.add(waiter)
    this.#waiting += 1
    this.#enter(name, party)
    return {
      come: promise,
      end: once(() => {
        if (holder === null) this.#leave(name, party, waiter)
        else this.#giveBack(name, party, holder)
      }),
    }
  }

  /** How many callers wait, and from how many parties. */
  depth(): { waiting: number; parties: number } {
    let parties = 0
    if (this.#waiting > 0)
      for (const { waiting } of this.#parties.values()) parties += Number(waiting.size > 0)
    return { waiting: this.#waiting, parties }
  }

  #mayHold(name: string, { isUnsparing, holding }: Party): boolean {
    const { placesOfOne, besideOthers } = this.#limits
    if (holding.size >= placesOfOne) return false
    if (isUnsparing || besideOthers === undefined || holding.size < besideOthers.places) return true
    if (!this.#company.has(name)) return true
    const slowBefore = this.#now() - besideOthers.slowMs
    let quick = 0
    for (const { since } of holding) if (since > slowBefore) quick += 1
    return quick < besideOthers.places
  }

  #mayWait({ waiting }: Party): boolean {
    const { waitingOfOne, waitingOfAll = Number.POSITIVE_INFINITY } = this.#limits
    const room = waiting.size === 0 ? 4 * waitingOfAll : waitingOfAll
    return waiting.size < waitingOfOne && this.#waiting < room
  }

  #hold(party: Party): Holder {
    const holder = { since: this.#now() }
    this.#free -= 1
    party.holding.add(holder)
    return holder
  }

  #giveBack(name: string, party: Party, holder: Holder): void {
    this.#free += 1
    party.holding.delete(holder)
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

  /** Adds a party to the end of the round, unless it is in it already. */
  #enter(name: string, party: Party): void {
    if (party.waiting.size === 0) return
    if (this.#mayHold(name, party)) this.#ring.add(name)
    else if (party.holding.size < this.#limits.placesOfOne) this.#lookAgain(name, party)
  }

  /** Others keep the party from a place. Check again later: its work may become slow, or the others may end. */
  #lookAgain(name: string, party: Party): void {
    party.timer ??= setTimeout(() => {
      party.timer = undefined
      this.#enter(name, party)
      this.#serve()
    }, this.#limits.besideOthers?.slowMs).unref()
  }

  #forget(name: string, party: Party): void {
    if (party.holding.size > 0 || party.waiting.size > 0) return
    clearTimeout(party.timer)
    this.#parties.delete(name)
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
      next.begin()
      this.#enter(name, party)
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
