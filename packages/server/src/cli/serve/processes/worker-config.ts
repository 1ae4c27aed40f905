import type { Config } from '../../../config.ts'
import { partOf } from '../../../platform/concurrency/part-of.ts'

/** The settings that bound a process. What the code bounds divides by `processes` where it stands. */
const divided = ['databasePool', 'maxConnections', 'maxHeldPolls', 'maxHeldPollsPerWorkspace'] as const

/** The settings of one of the processes that share a port: its part of what one process has alone. */
export function configOfWorker(config: Config): Config {
  const { processes, authPerIp } = config
  const parts = Object.fromEntries(divided.map(name => [name, partOf(config[name], processes)]))
  return { ...config, ...parts, authPerIp: authPerIp === null ? null : partOf(authPerIp, processes) }
}
