import { FairQueue, type Turn } from '../fair-queue.ts'
import { Refusal } from '../refusal.ts'

/** Who waits for a connection, and in whose name. Each name takes turns with the others. */
export type Line =
  /** A workspace, a person who has proved who they are, or a work of the service itself. */
  | { readonly kind: 'party'; readonly name: string; readonly isLong?: boolean }
  /** Whoever has proved nothing; known by the network alone. */
  | { readonly kind: 'stranger'; readonly network: string }

export interface Lines {
  /**
   * @returns a connection's place, or the wait for one. It must be ended, come or not.
   * @throws {Refusal} `unavailable` when too many wait in this name already.
   */
  enter(line: Line): Turn
  /** How many wait, and of how many names: workspaces and people each by themselves, all strangers as one. */
  depth(): { waiting: number; parties: number }
}

/** In one name. At 6 ms a mutation, five connections serve so many within half a second. */
const waitingMax = 500
/** Of one network. */
const strangersWaitingMax = 100

/**
 * Shares the connections of a pool. One name holds at most half of them, and a tenth, or two, while other names are about:
 * the mutations of a project wait for each other anyway, two of them keep a core busy, and others would wait for that core.
 * All strangers together are one more name with a tenth, in which networks take turns, so that a flood of anonymous
 * requests is a small part of the load, and leaves room for an anonymous request of somebody else; nobody has fewer
 * connections because of them. Works that may take a minute are one a name, and half of the pool in all.
 */
export function createLines(connections: number): Lines {
  const half = Math.max(1, Math.floor(connections / 2))
  const tenth = Math.max(1, Math.floor(connections / 10))
  const all = new FairQueue({
    places: connections,
    placesOfOne: half,
    placesBesideOthers: Math.min(half, Math.max(2, tenth)),
    waitingOfOne: waitingMax,
  })
  const strangers = new FairQueue({ places: tenth, placesOfOne: tenth, waitingOfOne: strangersWaitingMax })
  const long = new FairQueue({ places: half, placesOfOne: 1, waitingOfOne: waitingMax })

  const take = (queue: FairQueue, name: string, isUnnoticed = false): Turn => {
    const turn = queue.take(name, isUnnoticed)
    if (turn === null) throw tooManyWait()
    return turn
  }
  return {
    enter(line) {
      if (line.kind === 'stranger')
        return inTurn(take(strangers, line.network), () => take(all, 'strangers', true))
      return line.isLong ? inTurn(take(long, line.name), () => take(all, line.name)) : take(all, line.name)
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

/** A place in a small line first, and from there one in the next. */
function inTurn(first: Turn, enterSecond: () => Turn): Turn {
  let second: Turn | null = null
  let isOver = false
  const goOn = (): Promise<void> | null => {
    if (isOver) return null
    second = enterSecond()
    return second.come
  }
  const end = () => {
    isOver = true
    second?.end()
    first.end()
  }
  if (first.come !== null) return { come: first.come.then(goOn).then(() => {}), end }
  try {
    return { come: goOn(), end }
  } catch (error) {
    end()
    throw error
  }
}

/** To be tried again; nothing was begun. */
export const tooManyWait = () =>
  new Refusal('unavailable', 'Too many requests of yours wait for the store already.', {
    headers: { 'retry-after': '1' },
  })
