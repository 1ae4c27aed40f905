import { readFileSync } from 'node:fs'

/** The largest resident set of a process so far, in MiB: `VmHWM` of proc(5), which is in KiB. */
export const peakMiB = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
