import { readFileSync } from 'node:fs'
import { cpuSeconds } from '../harness/proc.ts'

/**
 * CPU time of a Postgres: the postmaster, its children, and those that have ended, in seconds. The time of
 * a child that has ended is counted by its parent alone (columns 16 and 17 of `/proc/PID/stat`).
 */
export function postgresCpuSeconds(postmaster: number): number {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
  return (
    [String(postmaster), ...children].reduce((sum, pid) => sum + aliveSeconds(Number(pid)), 0) +
    endedSeconds(postmaster)
  )
}

/** 0 for one that has ended since the list was read. */
function aliveSeconds(pid: number): number {
  try {
    return cpuSeconds(pid)
  } catch {
    return 0
  }
}

function endedSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const columns = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(columns[13]) + Number(columns[14])) / 100
}
