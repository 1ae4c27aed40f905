import { partOf } from '../../concurrency/part-of.ts'
import { sharedConnections } from '../lanes/lanes.ts'
import { errandsMost } from './errands.ts'

/** The connections that lanes share, and the one of rate limits, if counters are in Postgres. */
export const laneConnections = Object.values(sharedConnections).reduce((sum, most) => sum + most, 0) + 1

/** For LISTEN, the comparison of timelines, a scrape of metrics, upkeep, mail, and errands. */
const otherConnections = 1 + 1 + 1 + 1 + 2 + errandsMost

/** How many connections a process opens at most. Through a pooler, hints need one more. */
export const connectionsOf = (poolSize: number): number => poolSize + laneConnections + otherConnections

/** With one, a transaction that waits would hold up all others of its process. */
const leastPool = 2

/** The connections of the pool in each process. */
export const poolOf = ({ databasePool, processes }: PoolOfProcesses): number =>
  processes === 1 ? databasePool : Math.max(leastPool, partOf(databasePool, processes))

/** How many connections the processes open at most that share a port, and with it the connections of the pool. */
export const connectionsOfAll = (of: PoolOfProcesses): number => of.processes * connectionsOf(poolOf(of))

/** The same while a rolling restart runs one more. */
export const connectionsInRoll = (of: PoolOfProcesses): number =>
  (of.processes + (of.processes === 1 ? 0 : 1)) * connectionsOf(poolOf(of))

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
    if (connectionsInRoll({ databasePool, processes: most }) <= free) return most
  return 1
}
