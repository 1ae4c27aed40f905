import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/**
 * Cores by their part. Two suffice: the measured processes share one, the load generator has the other. Postgres and
 * Redis run beside the server, in every arm.
 */
export const SERVER_CORE = 0
export const LOAD_CORE = 1

/** Whether processes can be pinned here: `taskset` (util-linux) is installed, and each part has a core. */
export const canPin: boolean =
  availableParallelism() > LOAD_CORE && spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0

/**
 * The command line that runs this one on one core, or the same one where pinning is not possible. `taskset` replaces
 * itself, so the pid of the child is the pid of the command.
 */
export function pinned(
  core: number | null,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } {
  if (core === null || !canPin) return { command, args: [...args] }
  return { command: 'taskset', args: ['--cpu-list', String(core), command, ...args] }
}

/** Moves a running process, its threads and its descendants to one core; what they fork later follows. */
export function pinTree(pid: number, core: number | null): void {
  if (core === null || !canPin) return
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], {
    stdio: 'ignore',
  })
  for (const child of childrenOf(pid)) pinTree(child, core)
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}
