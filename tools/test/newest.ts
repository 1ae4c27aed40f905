import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'

/** The folder that a test file tests. */
const groupOf = (file: string): string => dirname(file).replace(/\/test$/, '')

/** Files whose folder changed most recently come first, and otherwise stay in their order. */
export function newestFirst(
  files: readonly string[],
  changedAt: (folder: string) => number = lastCommitSeconds,
): string[] {
  const times = new Map<string, number>()
  const timeOf = (file: string): number => {
    const group = groupOf(file)
    const time = times.get(group) ?? changedAt(group)
    times.set(group, time)
    return time
  }
  return files.toSorted((a, b) => timeOf(b) - timeOf(a))
}

/** When a folder last changed in the history; 0 where there is none. Seconds since 1970. */
function lastCommitSeconds(folder: string): number {
  const { stdout } = spawnSync('git', ['log', '-1', '--format=%ct', '--', folder], { encoding: 'utf8' })
  return Number(stdout?.trim() || 0)
}
