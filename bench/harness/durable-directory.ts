import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** `f_type` of file systems in memory, where fsync costs nothing (statfs(2)). */
const TMPFS = 0x0102_1994

/** Where benches put databases: /var/tmp, which survives a restart and so is on a disk, unlike /tmp on many systems. */
export function durableDirectory(): string {
  return existsSync('/var/tmp') ? '/var/tmp' : tmpdir()
}

/** Whether a commit there reaches no disk. */
export function liesInMemory(directory: string): boolean {
  return statfsSync(directory).type === TMPFS
}
