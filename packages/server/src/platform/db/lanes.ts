import type { Budgets } from '../budgets.ts'
import { postgres, span } from '../tracing.ts'
import type { Connection } from './connection.ts'
import { createIdleConnections, type IdleConnections } from './idle.ts'
import { type Lane, type LaneObserver, openLane } from './lane.ts'
import type { LaneSpec } from './lane-spec.ts'

/** Every lane of a service. A lane that is opened here is measured and closed with the others. */
export interface Lanes {
  /** @param elsewhere its database connection, if not that of the others. */
  open<In, Out>(spec: LaneSpec<In, Out>, elsewhere?: Connection): Lane<In, Out>
  /** Measures a queue for another store as if it were a lane. Its owner closes it. */
  measure(name: string, depth: () => number): void
  /** How many items wait in each, in the order in which they were opened. */
  depths(): { lane: string; waiting: number }[]
  /** The idle connections of these lanes, and of the pool of the same database. */
  readonly idle: IdleConnections
  /** Answers what waits, then takes no more. */
  close(): Promise<void>
}

export function openLanes(connection: Connection, budgets: Budgets, observer: LaneObserver): Lanes {
  const idle = createIdleConnections()
  const depths = new Map<string, () => number>()
  const closers: (() => Promise<void>)[] = []
  const measure = (name: string, depth: () => number) => {
    if (depths.has(name)) throw new Error(`two lanes have the name ${name}`)
    depths.set(name, depth)
    observer.laneOpened(name)
  }
  return {
    open(spec, elsewhere = connection) {
      // What breaks elsewhere says nothing of this database.
      const own = elsewhere === connection ? idle : createIdleConnections()
      const lane = openLane(elsewhere, spec, budgets, observer, own)
      measure(spec.name, lane.depth)
      closers.push(lane.close)
      return {
        ...lane,
        run: (item, deadline) => span(`lane ${spec.name}`, postgres, () => lane.run(item, deadline)),
      }
    },
    measure,
    idle,
    depths: () => [...depths].map(([lane, depth]) => ({ lane, waiting: depth() })),
    async close() {
      await Promise.all(closers.map(close => close()))
    },
  }
}
