import type { Config } from '../../config.ts'
import { type Connection, connect, patientAtStart } from '../../platform/db/connection.ts'
import { mostProcesses, servicesFor } from '../../platform/db/pool/connection-need.ts'
import { readOutsideFacts } from '../../platform/db/roles/outside-facts.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { CommandFailed } from '../failure.ts'

type Wanted = Pick<Config, 'databasePool' | 'processes' | 'isProcessesAuto'>

/**
 * Logs how many services of this size the connections of an outside Postgres carry. Two replace each other without a gap.
 * @returns how many processes may share the port: fewer than wanted, if their number follows the machine.
 * @throws {CommandFailed} when the connections carry fewer processes than the operator has set.
 */
export async function checkConnectionQuota(
  connection: Connection,
  { databasePool, processes: wanted, isProcessesAuto }: Wanted,
  log: Pick<Logger, 'warn' | 'info'>,
): Promise<number> {
  const client = await connect(patientAtStart(connection), 'start', false)
  try {
    const { free } = await readOutsideFacts(client)
    const processes = isProcessesAuto ? mostProcesses(free, { databasePool, processes: wanted }) : wanted
    const { need, fits } = servicesFor(free, { databasePool, processes })
    if (processes > 1 && fits === 0)
      throw new CommandFailed(
        `SERVICE_PROCESSES=${processes} opens up to ${need} connections, and Postgres has ${free}. Raise max_connections, or lower SERVICE_PROCESSES.`,
      )
    if (processes === 1)
      log[fits < 2 ? 'warn' : 'info'](
        { connections_of_a_process: need, connections_free: free, processes: fits },
        'space of the database for processes',
      )
    else
      log[fits < 2 ? 'warn' : 'info'](
        { connections_of_a_service: need, connections_free: free, services: fits, processes },
        'space of the database for processes',
      )
    return processes
  } finally {
    await client.end()
  }
}
