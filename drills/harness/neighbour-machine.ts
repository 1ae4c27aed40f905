import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, treeCpuSeconds } from '../../bench/harness/proc.ts'

/** The processes of the drill. Everything else that runs on the machine is other work. */
export interface OwnProcesses {
  readonly service: number
  readonly attacker: number
  readonly postmaster: number
}

/** While an attack still makes work after its end, the next turn is not quiet. */
const lookMs = 200
const restingCores = 0.15
const settledMsMax = 5_000

/** Waits until service and Postgres have done what the attack left them, or for 5 s. */
export async function settle({ service, postmaster }: OwnProcesses): Promise<void> {
  const used = () => cpuSeconds(service) + treeCpuSeconds(postmaster)
  const end = performance.now() + settledMsMax
  for (let before = used(); performance.now() < end; ) {
    const from = performance.now()
    await sleep(lookMs)
    const now = used()
    if (now - before <= (restingCores * (performance.now() - from)) / 1_000) return
    before = now
  }
}

/** Runs a turn. @returns its result, and how many cores other work took meanwhile. */
export async function besideOthers<Result>(
  { service, attacker, postmaster }: OwnProcesses,
  turn: () => Promise<Result>,
): Promise<{ result: Result; others: number }> {
  const read = () => {
    const ours = [process.pid, service, attacker].reduce((sum, pid) => sum + cpuSeconds(pid), 0)
    return {
      at: performance.now(),
      others: busySeconds(readFileSync('/proc/stat', 'utf8')) - ours - treeCpuSeconds(postmaster),
    }
  }
  const before = read()
  const result = await turn()
  const after = read()
  return { result, others: Math.max(0, (1_000 * (after.others - before.others)) / (after.at - before.at)) }
}

/** CPU time of all cores that was not idle, in seconds: the columns are user, nice, system, idle, iowait, irq, softirq, steal. */
export function busySeconds(procStat: string): number {
  const columns = /^cpu +([\d ]+)$/m.exec(procStat)?.[1]?.split(' ').slice(0, 8).map(Number) ?? []
  if (columns.length < 8) throw new Error('/proc/stat has no cpu line with eight columns')
  const [, , , idle = 0, waiting = 0] = columns
  return (columns.reduce((sum, ticks) => sum + ticks, 0) - idle - waiting) / 100
}
