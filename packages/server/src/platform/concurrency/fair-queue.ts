/**
 * Queues, turns and deadlines. `fair-queue.ts` gives parties turns: `waiting-callers.ts` has the callers of a party, in the
 * order of `turn-tree.ts`; `recent-parties.ts` knows which parties are active. `batching.ts` sends waiting calls
 * (`pending-calls.ts`) together, ordered by `turns.ts`. `deadline.ts` is the moment by which a call is answered, `within.ts`
 * waits no longer, and `ending.ts` bounds the work of many by one end. `once.ts` makes a value once, `recently-used.ts`
 * keeps the values used last, `thread-pool.ts` has threads, `lower-priority.ts` lowers their priority. `part-of.ts` divides
 * a bound among processes.
 */

import { tooManyInFlight } from '../refusal.ts'
import { RecentParties } from './recent-parties.ts'
import type { TurnPath } from './turn-tree.ts'
import { WaitingCallers } from './waiting-callers.ts'

/** How many callers may hold a place at once, in total and per party, and how many callers of one party may wait. */
export interface FairLimits {
  readonly places: number
  readonly placesOfOne: number
  /** The limits of a party while other parties were active in the last second; unset: the same limits. */
  readonly besideOthers?: BesideOthers
  readonly waitingOfOne: number
  /** How many callers of one name within a party may wait; unset: as many as of the party. */
  readonly waitingOfName?: number
}

interface BesideOthers {
  readonly places: number
  /**
   * Work that lasts longer than this, in milliseconds, waits for something other than the machine, such as a lock. Such work no
   * longer counts, so that it does not delay its own party.
   */
  readonly slowMs: number
}

/** How a caller affects other parties, and where the caller stands in its own party. */
export interface TurnOptions {
  /** While the caller is active, other parties keep their whole share. */
  readonly isUnnoticed?: boolean
  /** While other parties are active, the caller's party keeps its whole share. */
  readonly isUnsparing?: boolean
  /** The caller's names within its party. */
  readonly path?: TurnPath
  /** Minor callers together hold at most a quarter of the party's places, and get every fourth turn. */
  readonly isMinor?: boolean
}

/** A place, or the wait for a place. */
export interface Turn {
  /**
   * Settles when the caller gets its place; null if the caller has the place already.
   * @throws {Refusal} `too_many_in_flight`, when too many callers of the party or the name wait.
   */
  readonly come: Promise<void> | null
  /**
   * Whether the caller waits behind its own party: since the caller began to wait, the party has got places, or the party holds
   * all of its places while other parties give places back.
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
  /** How many places the party has got. */
  served: number
  /** Checks again whether the party may hold another place. */
  timer: NodeJS.Timeout | undefined
}

/**
 * Shares places among parties. Waiting parties take turns, one place per turn; within a party, its names take turns. A party
 * never holds more than its share, even while other places are free, because a newcomer would have to wait until it ends.
 * Its share is smaller while other parties are active: the work at all places shares a machine, so a newcomer with a place would
 * still wait for the machine.
 */
export class FairQueue {
  readonly #limits: FairLimits
  readonly #minorPlaces: number
  /** The parties that hold a place or wait for one; all other parties are forgotten. */
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

  /** @returns null if no more callers may wait. */
  take(name: string, options: TurnOptions = {}): Turn | null {
    const { isUnnoticed = false, isMinor = false, path = [] } = options
    if (!isUnnoticed) this.#recent.note(name)
    const party = this.#parties.get(name) ?? this.#newParty(options)
    if (this.#free > 0 && !party.waiting.hasOf(isMinor) && this.#mayHold(name, party, isMinor)) {
      this.#parties.set(name, party)
      const holder = this.#hold(party, isMinor)
      return { come: null, isPassed: () => false, end: once(() => this.#giveBack(name, party, holder)) }
    }
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

  /** Adds a party to the end of the round, unless the round has the party already. */
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

  /** Other parties keep the party from a place. Check again later: a caller's work may become slow, or other parties may end. */
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
