import { availableParallelism, cpus, loadavg } from 'node:os'
import { type Fsync, probeFsync } from './fsync.ts'
import { canPin } from './pin.ts'

/** What the figures depend on beside the code. */
export type Machine = {
  node: string
  cpu: string
  cpuCount: number
  /** Whether server and load each had a separate core. */
  pinned: boolean
  /** Load of the last minute before the run. It shows neighbours on the same machine, which steal does not. */
  loadAverage: number
  fsync: Fsync | null
}

export async function describeMachine(): Promise<Machine> {
  return {
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cpuCount: availableParallelism(),
    pinned: canPin,
    loadAverage: loadavg()[0] ?? 0,
    fsync: (await probeFsync()) ?? null,
  }
}
