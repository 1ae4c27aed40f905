/**
 * How work waits and shares. A fair queue gives parties turns: `waiting-callers.ts` are those that wait, `turn-tree.ts`
 * and `turns.ts` order them, `recent-parties.ts` knows who was active. `batching.ts` sends the calls that wait
 * (`pending-calls.ts`) together. `deadline.ts` is when a call is answered. `once.ts` and `recently-used.ts` share
 * values, `thread-pool.ts` has threads, with `lower-priority.ts`.
 */

import { tooManyInFlight } from '../refusal.ts'
import { RecentParties } from './recent-parties.ts'
import type { TurnPath } from './turn-tree.ts'
import { WaitingCallers } from './waiting-callers.ts'

/** How many callers may hold a place at once, in total and per party, and how many of one party may wait. */
export interface FairLimits {
  readonly places: number
  readonly placesOfOne: number
  /** What one party may take if others were active in the last second; unset: the same. */
  readonly besideOthers?: BesideOthers
  readonly waitingOfOne: number
  /** How many of one name within a party may wait; unset: as many as of the party. */
  readonly waitingOfName?: number
}

interface BesideOthers {
  readonly places: number
  /**
   * Work that lasts longer than this, in milliseconds, waits for something other than the machine, such as a
   * lock. It no longer counts, so that it does not delay its own party.
   */
  readonly slowMs: number
}

/** How a caller affects other parties, and where it stands in its own. */
export interface TurnOptions {
  /** The other parties keep their whole share while it is active. */
  readonly isUnnoticed?: boolean
  /** Its party keeps its whole share while others are active. */
  readonly isUnsparing?: boolean
  /** Its names within its party. */
  readonly path?: TurnPath
  /** It is one of the callers that together hold at most a quarter of the party's places, and get every fourth turn. */
  readonly isMinor?: boolean
}

/** A place, or the wait for one. */
export interface Turn {
  /**
   * Null if the place is held already; otherwise it settles when it is.
   * @throws {Refusal} `too_many_in_flight`, when too many of its party or name wait.
   */
  readonly come: Promise<void> | null
  /**
   * Whether it waits behind its own party: this has got places since it began to wait, or holds all that it may while others give
   * theirs back.
   */
  isPassed(): boolean
  /** Gives the place back, or stops waiting for it. A second call does nothing. */
  end(): void
}

interface Waiter {
  readonly isMinor: boolean
  begin(): void
  drop(): void
}

interface Holder {
  readonly since: number
  readonly isMinor: boolean
}

interface Party extends Pick<TurnOptions, 'isUnsparing'> {
  readonly holding: Set<Holder>
  readonly waiting: WaitingCallers<Waiter>
  /** How many places it has got. */
  served: number
  /** Checks again whether the party may hold another place. */
  timer: NodeJS.Timeout | undefined
}

/**
 * Shares places among parties. Waiting parties take turns, one place per turn; within a party, its names take turns. A party
 * never holds more than its share, even while other places are free, because a newcomer would have to wait until it ends.
 * Its share is smaller while others are active: the work at all places shares a machine, so a newcomer with a place would
 * still wait for the machine.
 */
export class FairQueue {
  readonly #limits: FairLimits
  readonly #minorPlaces: number
  /** The parties that hold a place or wait for one; no others are remembered. */
  readonly #parties = new Map<string, Party>()
  /** The parties that wait and may hold another place; the first one is served next. */
  readonly #ring = new Set<string>()
  #free: number
  #waiting = 0
  /** How many places were given back. */
  #ended = 0
  readonly #recent: RecentParties
  readonly #now: () => number

  /** @param now a monotonic clock, in milliseconds. */
  constructor(limits: FairLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#minorPlaces = Math.max(1, Math.floor(limits.placesOfOne / 4))
    this.#now = now
    this.#free = limits.places
    this.#recent = new RecentParties(now)
  }

  /** @returns null if no more may wait. */
  take(name: string, options: TurnOptions = {}): Turn | null {
    const { isUnnoticed = false, isMinor = false, path = [] } = options
    if (!isUnnoticed) this.#recent.note(name)
    const party = this.#parties.get(name) ?? this.#newParty(options)
    if (this.#free > 0 && !party.waiting.hasOf(isMinor) && this.#mayHold(name, party, isMinor)) {
      this.#parties.set(name, party)
      const holder = this.#hold(party, isMinor)
      return { come: null, isPassed: () => false, end: once(() => this.#giveBack(name, party, holder)) }
    }
    // A full party makes space among its own.
    if (this.#limits.waitingOfOne === 0) return null
    this.#parties.set(name, party)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { served } = party
    const ended = this.#ended
    let holder: Holder | null = null
    const waiter: Waiter = {
      isMinor,
      begin: () => {
        holder = this.#hold(party, isMinor)
        resolve()
      },
      drop: () => reject(tooManyInFlight()),
    }
    const dropped = party.waiting.add(path, waiter)
    if (dropped === waiter) {
      this.#forget(name, party)
      return null
    }
    if (dropped === null) this.#waiting += 1
    else dropped.drop()
    this.#enter(name, party)
    return {
      come: promise,
      isPassed: () => party.served > served || (this.#ended > ended && !this.#mayHold(name, party, isMinor)),
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

  #newParty({ isUnsparing = false }: TurnOptions): Party {
    const { waitingOfOne, waitingOfName = waitingOfOne } = this.#limits
    const waiting = new WaitingCallers<Waiter>(waitingOfOne, waitingOfName)
    return { isUnsparing, holding: new Set(), waiting, served: 0, timer: undefined }
  }

  #mayHold(name: string, { isUnsparing, holding }: Party, isMinor: boolean): boolean {
    const { placesOfOne, besideOthers } = this.#limits
    if (holding.size >= placesOfOne) return false
    if (isMinor && this.#minorsOf(holding) >= this.#minorPlaces) return false
    if (isUnsparing || besideOthers === undefined || holding.size < besideOthers.places) return true
    if (!this.#recent.has(name)) return true
    const slowBefore = this.#now() - besideOthers.slowMs
    let quick = 0
    for (const { since } of holding) if (since > slowBefore) quick += 1
    return quick < besideOthers.places
  }

  #minorsOf(holding: ReadonlySet<Holder>): number {
    let minors = 0
    for (const { isMinor } of holding) minors += Number(isMinor)
    return minors
  }

  #hold(party: Party, isMinor: boolean): Holder {
    const holder = { since: this.#now(), isMinor }
    this.#free -= 1
    party.holding.add(holder)
    party.served += 1
    return holder
  }

  #giveBack(name: string, party: Party, holder: Holder): void {
    this.#free += 1
    this.#ended += 1
    party.holding.delete(holder)
    this.#enter(name, party)
    this.#forget(name, party)
    this.#serve()
  }

  #leave(name: string, party: Party, waiter: Waiter): void {
    if (!party.waiting.remove(waiter)) return
    this.#waiting -= 1
    if (party.waiting.size === 0) this.#ring.delete(name)
    this.#forget(name, party)
  }

  /** Adds a party to the end of the round, unless it is in it already. */
  #enter(name: string, party: Party): void {
    const { waiting, holding } = party
    if (waiting.size === 0) return
    if (this.#mayHoldNext(name, party)) this.#ring.add(name)
    else if (holding.size < this.#limits.placesOfOne) this.#lookAgain(name, party)
  }

  #mayHoldNext(name: string, party: Party): boolean {
    return (
      (party.waiting.hasOf(false) && this.#mayHold(name, party, false)) ||
      (party.waiting.hasOf(true) && this.#mayHold(name, party, true))
    )
  }

  /** Others keep the party from a place. Check again later: its work may become slow, or the others may end. */
  #lookAgain(name: string, party: Party): void {
    if (this.#limits.besideOthers === undefined) return
    party.timer ??= setTimeout(() => {
      party.timer = undefined
      this.#enter(name, party)
      this.#serve()
    }, this.#limits.besideOthers.slowMs).unref()
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
      if (party === undefined) continue
      const next = party.waiting.next(this.#mayHold(name, party, true))
      if (next === undefined) {
        this.#enter(name, party)
        continue
      }
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
