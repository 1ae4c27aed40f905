import { readFileSync, writeFileSync } from 'node:fs'

/** What Linux knows of a process. All of these throw ENOENT once it is gone, and where there is no /proc. */

/** The largest resident set since the start, or since `resetPeakRss`, in bytes. */
export function peakRssBytes(pid: number): number {
  return parsePeakRssBytes(readFileSync(`/proc/${pid}/status`, 'utf8'))
}

/** `VmHWM` of `/proc/PID/status`: always in kB of 1,024 bytes. */
export function parsePeakRssBytes(status: string): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
  if (!kib) throw new Error('/proc/PID/status has no VmHWM line')
  return Number(kib) * 1024
}

/** Lets the peak begin again at the present size: 5 is the value for that, see proc(5) under clear_refs. */
export function resetPeakRss(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** CPU time, user and system, all threads, in seconds. Its grain is one tick, 10 ms. */
export function cpuSeconds(pid: number): number {
  return parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** utime and stime are columns 14 and 15 of `/proc/PID/stat`; column 2, the name, may hold blanks and brackets. */
export function parseCpuSeconds(stat: string): number {
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(columns[11]) + Number(columns[12])
  if (!Number.isFinite(ticks)) throw new Error('/proc/PID/stat has no CPU times')
  return ticks / TICKS_PER_SECOND
}

/** USER_HZ is 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100
