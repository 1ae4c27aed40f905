import { readFileSync, writeFileSync } from 'node:fs'

/** What Linux knows about a process. All of these throw ENOENT once it has ended, and where /proc is missing. */

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

/** Restarts the peak at the present size: 5 is the value for that, see proc(5) under clear_refs. */
export function resetPeakRss(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

/** CPU time, user and system, all threads, in seconds. Its resolution is one tick, 10 ms. */
export function cpuSeconds(pid: number): number {
  return parseCpuSeconds(readStat(pid)).own
}

/**
 * CPU time of a process, its children and its ended children, in seconds: of a Postgres with every backend. Only the
 * parent counts the time of an ended child.
 */
export function treeCpuSeconds(parent: number): number {
  for (;;) {
    const before = parseCpuSeconds(readStat(parent)).endedChildren
    const seconds = childrenOf(parent).reduce((sum, pid) => sum + aliveSeconds(pid), 0)
    const { own, endedChildren } = parseCpuSeconds(readStat(parent))
    // A child that ended meanwhile would be counted twice, or not at all.
    if (endedChildren === before) return seconds + own + endedChildren
  }
}

const readStat = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8')

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** 0 for a process that has ended since the list was read. */
function aliveSeconds(pid: number): number {
  try {
    return cpuSeconds(pid)
  } catch {
    return 0
  }
}

/** utime, stime, cutime and cstime, columns 14 to 17 of `/proc/PID/stat`; the name, column 2, may have any characters. */
export function parseCpuSeconds(stat: string): { own: number; endedChildren: number } {
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, endedUser, endedSystem] = columns.slice(11, 15).map(Number)
  const own = (Number(user) + Number(system)) / TICKS_PER_SECOND
  const endedChildren = (Number(endedUser) + Number(endedSystem)) / TICKS_PER_SECOND
  if (!Number.isFinite(own + endedChildren)) throw new Error('/proc/PID/stat has no CPU times')
  return { own, endedChildren }
}

/** USER_HZ is 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100
