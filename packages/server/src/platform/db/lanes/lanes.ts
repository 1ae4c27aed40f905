/**
 * Lanes: connections that batch calls. `spec.ts` is what a lane sends, `lane.ts` queues and sends it, `send.ts` asks the
 * store, `connections.ts` opens and shares connections. `allowance.ts` bounds what hot calls may keep.
 */

import type { Budgets } from '../../budgets.ts'
import { mostWaiting } from '../../concurrency/batching.ts'
import { partOf } from '../../concurrency/part-of.ts'
import { postgres, span } from '../../observe/tracing.ts'
import type { Connection } from '../connection.ts'
import { createIdleConnections, type IdleConnections } from '../pool/idle.ts'
import { type LaneConnections, type LaneConnectionsParts, openLaneConnections } from './connections.ts'
import { type Lane, type LaneObserver, openLane } from './lane.ts'
import type { LaneSpec, SharedConnections } from './spec.ts'

/** Every lane of a service. A lane that is opened here is also measured and closed here. */
export interface Lanes {
  /** @param elsewhere the lane's own connection to a database, if not the connection of all lanes. */
  open<In, Out>(spec: LaneSpec<In, Out>, elsewhere?: Connection): Lane<In, Out>
  /** Measures a queue for another store like a lane. The owner of the queue closes it. */
  measure(name: string, depth: () => number): void
  /** How many items wait in each lane, in the order in which the lanes were opened. */
  depths(): { lane: string; waiting: number }[]
  /** The connections of each lane, by the lane's name: the shared ones that it uses, or its own. */
  readonly sharing: ReadonlyMap<string, SharedConnections | 'its own'>
  /** The idle connections of these lanes, and of the pool of the same database. */
  readonly idle: IdleConnections
  /** Answers the waiting items, and accepts no more. */
  close(): Promise<void>
}

/** How many connections lanes share. A lane with settings has one more. */
export const sharedConnections: Readonly<Record<SharedConnections, number>> = {
  reads: 2,
  rights: 1,
  writes: 2,
}

/** @param processes among which the calls are divided that may wait. */
export function openLanes(
  connection: Connection,
  budgets: Budgets,
  observer: LaneObserver,
  processes = 1,
): Lanes {
  const bounds = { requestMs: budgets.requestMs, pendingMost: partOf(mostWaiting, processes) }
  const idle = createIdleConnections()
  const depths = new Map<string, () => number>()
  const sharing = new Map<string, SharedConnections | 'its own'>()
  const lanes: { close(): Promise<void> }[] = []
  const sets: LaneConnections[] = []
  const openSet = (name: string, most: number, more: Partial<LaneConnectionsParts> = {}) => {
    const set = openLaneConnections({ connection, budgets, idle, name, most, isShared: false, ...more })
    sets.push(set)
    return set
  }
  const { reads, rights, writes } = sharedConnections
  const shared: Readonly<Record<SharedConnections, LaneConnections>> = {
    reads: openSet('lanes reads', reads, { isShared: true }),
    rights: openSet('lanes rights', rights, { isShared: true }),
    writes: openSet('lanes writes', writes),
  }
  const setOf = (spec: LaneSpec<never, unknown>, elsewhere: Connection): LaneConnections => {
    const own = `lane ${spec.name}`
    // A connection to another database that breaks does not concern this database.
    if (elsewhere !== connection)
      return openSet(own, 1, { connection: elsewhere, idle: createIdleConnections() })
    return 'shares' in spec ? shared[spec.shares] : openSet(own, 1, { settings: spec.settings })
  }
  const measure = (name: string, depth: () => number) => {
    if (depths.has(name)) throw new Error(`two lanes have the name ${name}`)
    depths.set(name, depth)
    observer.laneOpened(name)
  }
  return {
    open(spec, elsewhere = connection) {
      const lane = openLane(setOf(spec, elsewhere), spec, bounds, observer)
      measure(spec.name, lane.depth)
      sharing.set(spec.name, 'shares' in spec ? spec.shares : 'its own')
      lanes.push(lane)
      return {
        ...lane,
        run: (item, deadline) => span(`lane ${spec.name}`, postgres, () => lane.run(item, deadline)),
      }
    },
    measure,
    idle,
    sharing,
    depths: () => [...depths].map(([lane, depth]) => ({ lane, waiting: depth() })),
    async close() {
      await Promise.all(lanes.map(lane => lane.close()))
      await Promise.all(sets.map(set => set.close()))
    },
  }
}
