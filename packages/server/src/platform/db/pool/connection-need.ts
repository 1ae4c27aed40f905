import { sharedConnections } from '../lanes/lanes.ts'
import { errandsMost } from './errands.ts'

/** The connections that lanes share, and the one of rate limits, if counters are in Postgres. */
export const laneConnections = Object.values(sharedConnections).reduce((sum, most) => sum + most, 0) + 1

/** For LISTEN, the comparison of timelines, a scrape of metrics, upkeep, mail, and errands. */
const otherConnections = 1 + 1 + 1 + 1 + 2 + errandsMost

/** How many connections a process opens at most. Through a pooler, hints need one more. */
export const connectionsOf = (poolSize: number): number => poolSize + laneConnections + otherConnections

/** How many processes fit into the connections that other programs leave free. */
export function processesFor(free: number, poolSize: number): { need: number; fits: number } {
  const need = connectionsOf(poolSize)
  return { need, fits: Math.floor(free / need) }
}
