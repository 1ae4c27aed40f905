import { readFileSync } from 'node:fs'

/** Time all CPUs have spent since boot, in ticks (usually 10 ms). */
export type CpuTimes = { total: number; steal: number }

/**
 * Reads the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)). The two guest
 * columns after them are left out, as user and nice contain them already.
 */
export function parseCpuTimes(procStat: string): CpuTimes {
  const columns = /^cpu +([\d ]+)$/m.exec(procStat)?.[1]?.split(' ').slice(0, 8).map(Number) ?? []
  const steal = columns[7]
  if (steal === undefined) throw new Error('/proc/stat has no cpu line with eight columns')
  return { total: columns.reduce((sum, ticks) => sum + ticks, 0), steal }
}

/** The counters now, or undefined without /proc (macOS): then steal is unknown. */
export function readCpuTimes(): CpuTimes | undefined {
  try {
    return parseCpuTimes(readFileSync('/proc/stat', 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Share (0 to 1) of the time between the two readings that the hypervisor gave to other machines. */
export function stealShare(before: CpuTimes | undefined, after: CpuTimes | undefined): number | undefined {
  if (!before || !after) return undefined
  const total = after.total - before.total
  return total > 0 ? Math.max(0, after.steal - before.steal) / total : 0
}
