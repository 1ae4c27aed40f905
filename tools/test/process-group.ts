import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { markVariable } from '../../packages/server/test/mark.ts'

/** A test file that runs, with what it starts. */
export interface Family {
  /** The file's process, and the group that it leads. */
  readonly leader: number
  /** The value of the variable that marks what it starts. */
  readonly mark: string
  /** What it had started when it was killed. */
  readonly known: ProcessFacts[]
}

/** What ended a moment before the file is still leaving, and what waits for the file's end tidies up. Milliseconds. */
const leavingMs = 2_000

/** Kills a test file with its group. */
export function killLeader(family: Family): void {
  // What loses its parent could be found by its mark alone.
  family.known.push(...membersOf(family))
  kill(-family.leader)
}

/**
 * Ends the processes that a file left behind.
 *
 * @returns their names; those that end within a moment were leaving
 */
export async function endLeftovers(family: Family): Promise<string[]> {
  const left = await untilGone(family)
  for (const { pid } of left) kill(pid)
  if (left.length > 0) await untilGone(family)
  return left.map(({ name }) => name)
}

/** @returns what is still there after a moment */
async function untilGone(family: Family): Promise<ProcessFacts[]> {
  let left = leftOf(family)
  for (const until = performance.now() + leavingMs; left.length > 0 && performance.now() < until; ) {
    await wait(50)
    left = leftOf(family)
  }
  return left
}

function leftOf(family: Family): ProcessFacts[] {
  const members = membersOf(family)
  const isOther = ({ pid }: ProcessFacts) => members.every(one => one.pid !== pid)
  return [...members, ...family.known.filter(one => isOther(one) && isStillRunning(one))]
}

function isStillRunning({ pid, startedAt }: ProcessFacts): boolean {
  const now = factsOf(pid)
  return now?.startedAt === startedAt && now.state !== 'Z'
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/**
 * The running processes of a file, from /proc: its group, those with its mark, and their children in turn, which may have
 * groups and environments that are not the file's. Where there is no /proc, none is found.
 */
function membersOf({ leader, mark }: Omit<Family, 'known'>): ProcessFacts[] {
  const all = allProcesses().filter(({ state }) => state !== 'Z')
  const members = new Set(
    all.filter(one => one.group === leader || one.parent === leader || isMarked(one.pid, mark)),
  )
  // A set gives what is added while one goes through it.
  for (const { pid } of members) for (const one of all) if (one.parent === pid) members.add(one)
  return [...members]
}

function isMarked(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${markVariable}=${mark}`)
  } catch {
    return false
  }
}

interface ProcessFacts {
  readonly pid: number
  readonly name: string
  /** `Z` has ended, and waits for its parent. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly cpuSeconds: number
  /** In clock ticks since the machine started: a number of a process may be given again. */
  readonly startedAt: number
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
    startedAt: Number(fields[19]),
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
