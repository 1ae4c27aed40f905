import { availableParallelism } from 'node:os'
import { FairQueue, type Turn, type TurnOptions } from '../../concurrency/fair-queue.ts'
import { partOf } from '../../concurrency/part-of.ts'
import type { TurnPath } from '../../concurrency/turn-tree.ts'
import { networkOf, siteOf } from '../../network/client-network.ts'
import { Refusal, tooManyInFlight } from '../../refusal.ts'

/** Where a caller stands among the callers of its party. */
export interface TurnPlace {
  readonly path: TurnPath
  /** The caller is a browser of a tenant: browsers have a separate share. */
  readonly isMinor: boolean
}

/** The name in which a caller waits for a connection. Names take turns. */
export type Party =
  /** A workspace, or an authenticated person. */
  | { readonly kind: 'party'; readonly name: string; readonly isLong?: boolean; readonly place?: TurnPlace }
  /** The service's own work, such as a report of leaked keys: it keeps half of the connections even beside other names. */
  | { readonly kind: 'service'; readonly name: string }
  /** A caller without a credential, known only by its address. */
  | { readonly kind: 'stranger'; readonly ip: string }

export interface Shares {
  /**
   * @returns a place, or the wait for a place. The caller must end it in either case.
   * @throws {Refusal} `too_many_in_flight` when too many callers wait in this name already.
   */
  enter(party: Party): Turn
  /** How many callers wait, and in how many names. All strangers count as one name. */
  depth(): { waiting: number; parties: number }
}

/** How many callers of one name may wait. At 6 ms a mutation, five connections serve 500 within half a second. */
const waitingMax = 500
/** How many callers of one name within a party may wait. */
const waitingOfNameMax = 256
/** How many strangers of one site may wait. */
const strangersWaitingMax = 100

/** A mutation takes about 6 ms; one that takes 50 ms waits for a lock. */
const slowMs = 50

/**
 * Shares the connections of a pool fairly among names.
 *
 * - One name holds at most half of the connections. While other names are active it holds a tenth, and at most half as many as
 *   there are cores: the mutations of one project wait for each other anyway, and two of them keep a core busy that other names
 *   need. A transaction that waits for a lock does not count. The service's own work keeps its half.
 * - All strangers together are one more name with a tenth of the connections, for which sites take turns, and networks within a
 *   site. So a flood of anonymous requests takes a small part, leaves space for other anonymous requests, and takes no
 *   connection from a caller with a credential.
 * - Long works, of up to a minute, run one at a time in each name, and take at most half of the pool in total.
 */
export function createShares(
  connections: number,
  cores: number = availableParallelism(),
  processes = 1,
): Shares {
  const half = Math.max(1, Math.floor(connections / 2))
  const tenth = Math.max(1, Math.floor(connections / 10))
  const besideOthers = { places: Math.max(1, Math.min(tenth, Math.floor(cores / 2))), slowMs }
  const waiting = {
    waitingOfOne: partOf(waitingMax, processes),
    waitingOfName: partOf(waitingOfNameMax, processes),
  }
  const all = new FairQueue({
    places: connections,
    placesOfOne: half,
    besideOthers,
    ...waiting,
  })
  const strangers = new FairQueue({
    places: tenth,
    placesOfOne: tenth,
    besideOthers,
    waitingOfOne: partOf(strangersWaitingMax, processes),
  })
  const long = new FairQueue({
    places: half,
    placesOfOne: 1,
    ...waiting,
  })

  const take = (queue: FairQueue, name: string, options?: TurnOptions): Turn => {
    const turn = queue.take(name, options)
    if (turn === null) throw tooManyInFlight()
    return turn
  }
  return {
    enter(party) {
      if (party.kind === 'stranger')
        return inTurn(take(strangers, siteOf(party.ip), { path: [networkOf(party.ip)] }), () =>
          take(all, 'strangers', { isUnnoticed: true }),
        )
      if (party.kind === 'service') return take(all, party.name, { isUnsparing: true })
      const { name, isLong = false, place } = party
      return isLong
        ? inTurn(take(long, name, place), () => take(all, `${name} long`, { isUnnoticed: true }))
        : take(all, name, place)
    },
    depth() {
      const [most, small, slow] = [all, strangers, long].map(queue => queue.depth())
      return {
        waiting: (most?.waiting ?? 0) + (small?.waiting ?? 0) + (slow?.waiting ?? 0),
        parties: (most?.parties ?? 0) + Number((small?.waiting ?? 0) > 0) + (slow?.parties ?? 0),
      }
    },
  }
}

/** Waits for a place in the first queue, and with it for a place in the second. */
function inTurn(first: Turn, enterSecond: () => Turn): Turn {
  let second: Turn | null = null
  let isOver = false
  const goOn = (): Promise<void> | null => {
    if (isOver) return null
    second = enterSecond()
    return second.come
  }
  const isPassed = () => first.isPassed() || (second?.isPassed() ?? false)
  const end = () => {
    isOver = true
    second?.end()
    first.end()
  }
  if (first.come !== null) return { come: first.come.then(goOn).then(() => {}), isPassed, end }
  try {
    return { come: goOn(), isPassed, end }
  } catch (error) {
    end()
    throw error
  }
}

/** The answer to a caller whose turn has not come in time; its transaction has not begun. */
export const noTurn = (turn: Pick<Turn, 'isPassed'>): Refusal =>
  turn.isPassed() ? tooManyInFlight() : new Refusal('unavailable', '', { headers: { 'retry-after': '1' } })
