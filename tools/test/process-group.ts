import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

/** Ends every process of a group at once. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // The group is empty.
  }
}

/** What ended a moment before the file is still leaving. Milliseconds. */
const leavingMs = 2_000

/**
 * Ends the processes that a file left behind in its group.
 *
 * @returns their names; those that end within a moment were leaving
 */
export async function endLeftovers(group: number): Promise<string[]> {
  let left = membersOf(group)
  for (const until = performance.now() + leavingMs; left.length > 0 && performance.now() < until; ) {
    await wait(50)
    left = membersOf(group)
  }
  killGroup(group)
  return left
}

/** Names of the running processes of a group, from /proc; where there is none, nothing is found. */
function membersOf(group: number): string[] {
  try {
    process.kill(-group, 0)
  } catch {
    return []
  }
  return allProcesses().flatMap(one => (one.group === group && one.state !== 'Z' ? [one.name] : []))
}

interface ProcessFacts {
  readonly pid: number
  readonly name: string
  /** `Z` has ended, and waits for its parent. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly cpuSeconds: number
  /** The sum over the children that it has waited for, with those that they have waited for. */
  readonly childrenCpuSeconds: number
}

const ticksPerSecond = 100

function factsOf(pid: number | 'self'): ProcessFacts | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name is in parentheses and may contain any of them.
  const end = text.lastIndexOf(')')
  const fields = text.slice(end + 2).split(' ')
  const seconds = (...places: number[]) =>
    places.reduce((sum, at) => sum + Number(fields[at]), 0) / ticksPerSecond
  return {
    pid: Number.parseInt(text, 10),
    name: text.slice(text.indexOf('(') + 1, end),
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    cpuSeconds: seconds(11, 12),
    childrenCpuSeconds: seconds(13, 14),
  }
}

function allProcesses(): ProcessFacts[] {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return []
  }
  return names.flatMap(name => (/^\d+$/.test(name) ? (factsOf(Number(name)) ?? []) : []))
}

/** A process with its children, those that have ended included. */
export const cpuSecondsOfTree = (pid: number): number =>
  allProcesses()
    .filter(one => one.pid === pid || one.parent === pid)
    .reduce((sum, one) => sum + one.cpuSeconds + one.childrenCpuSeconds, 0)

/**
 * @returns a function that, called as each child ends, returns the processor seconds of that child. When several
 * end in the same moment, the first call gets the time of all.
 */
export function countChildrenCpu(): () => number {
  let counted = 0
  return () => {
    const all = factsOf('self')?.childrenCpuSeconds ?? 0
    const ofChild = all - counted
    counted = all
    return ofChild
  }
}
