import { partOf } from '../../concurrency/part-of.ts'
import { sharedConnections } from '../lanes/lanes.ts'
import { errandsMost } from './errands.ts'

/** The connections that lanes share, and the one of rate limits, if counters are in Postgres. */
export const laneConnections = Object.values(sharedConnections).reduce((sum, most) => sum + most, 0) + 1

/** For LISTEN, the comparison of timelines, a scrape of metrics, upkeep, mail, and errands. */
const otherConnections = 1 + 1 + 1 + 1 + 2 + errandsMost

/** How many connections a process opens at most. Through a pooler, hints need one more. */
export const connectionsOf = (poolSize: number): number => poolSize + laneConnections + otherConnections

/** How many connections the processes open at most that share a port, and with it the connections of the pool. */
export const connectionsOfAll = ({ databasePool, processes }: PoolOfProcesses): number =>
  processes * connectionsOf(partOf(databasePool, processes))

/** The same while a rolling restart runs one more. */
export const connectionsInRoll = ({ databasePool, processes }: PoolOfProcesses): number =>
  (processes + (processes === 1 ? 0 : 1)) * connectionsOf(partOf(databasePool, processes))

export interface PoolOfProcesses {
  /** Of all processes together. */
  readonly databasePool: number
  /** How many share a port. */
  readonly processes: number
}

/** How many services of this size fit into the connections that other programs leave free. */
export function servicesFor(free: number, of: PoolOfProcesses): { need: number; fits: number } {
  const need = connectionsOfAll(of)
  return { need, fits: Math.floor(free / need) }
}

/** The most processes of which one more fits too, the one that replaces another in a rolling restart; at least 1. */
export function mostProcesses(free: number, { databasePool, processes }: PoolOfProcesses): number {
  for (let most = processes; most > 1; most -= 1)
    if ((most + 1) * connectionsOf(partOf(databasePool, most)) <= free) return most
  return 1
}
