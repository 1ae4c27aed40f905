import type { Config } from '../../../config.ts'
import { partOf } from '../../../platform/concurrency/part-of.ts'
import { poolOf } from '../../../platform/db/pool/connection-need.ts'

/** The settings that bound a process. What the code bounds divides by `processes` where it stands. */
const divided = ['maxConnections', 'maxHeldPolls', 'maxHeldPollsPerWorkspace'] as const

/** The settings of one of the processes that share a port: its part of what one process has alone. */
export function configOfWorker(config: Config): Config {
  const { processes, authPerIp } = config
  const parts = Object.fromEntries(divided.map(name => [name, partOf(config[name], processes)]))
  const databasePool = poolOf(config)
  return {
    ...config,
    ...parts,
    databasePool,
    authPerIp: authPerIp === null ? null : partOf(authPerIp, processes),
  }
}
