import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'

/** Reads a file of the system; undefined if there is none. */
export type ReadSystemFile = (path: string) => string | undefined

/**
 * How many whole cores this process may use: those that the system shows it, and no more than the quota of its control group.
 * Node knows the quota of version 2 alone.
 */
export function coresOf(read: ReadSystemFile = readIfThere, shown: number = availableParallelism()): number {
  const quotas = groupsOf(read('/proc/self/cgroup') ?? '').map(group => quotaOf(group, read))
  return Math.max(1, Math.floor(Math.min(shown, ...quotas)))
}

interface Group {
  readonly version: 1 | 2
  readonly path: string
}

/** The groups that bound the processor, of lines such as `4:cpu,cpuacct:/docker/1f` and `0::/system.slice`. */
function groupsOf(text: string): Group[] {
  return text.split('\n').flatMap((line): Group[] => {
    const [id, controllers = '', ...rest] = line.split(':')
    const path = rest.join(':')
    if (id === '0' && controllers === '') return [{ version: 2, path }]
    return controllers.split(',').includes('cpu') ? [{ version: 1, path }] : []
  })
}

/** Where the controllers are mounted. A container often sees its own group as the root. */
const places = {
  1: ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct'],
  2: ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'],
} as const

/** The least quota of a group and of those above it, in cores. */
function quotaOf({ version, path }: Group, read: ReadSystemFile): number {
  let least = Number.POSITIVE_INFINITY
  for (let at = path; ; at = dirname(at)) {
    for (const place of places[version]) least = Math.min(least, quotaAt(version, join(place, at), read))
    if (at === dirname(at)) return least
  }
}

function quotaAt(version: 1 | 2, folder: string, read: ReadSystemFile): number {
  const [quota, period] =
    version === 2
      ? (read(join(folder, 'cpu.max')) ?? '').split(/\s+/)
      : [read(join(folder, 'cpu.cfs_quota_us')), read(join(folder, 'cpu.cfs_period_us'))]
  const cores = Number(quota) / Number(period)
  // Without a quota it is `max`, or -1.
  return cores > 0 ? cores : Number.POSITIVE_INFINITY
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
