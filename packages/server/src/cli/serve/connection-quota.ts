import { type Connection, connect, patientAtStart } from '../../platform/db/connection.ts'
import { processesFor } from '../../platform/db/pool/connection-need.ts'
import { readOutsideFacts } from '../../platform/db/roles/outside-facts.ts'
import type { Logger } from '../../platform/observe/log.ts'

/** Logs how many processes of this size the connections of an outside Postgres carry. Two replace each other without a gap. */
export async function logConnectionQuota(
  connection: Connection,
  poolSize: number,
  log: Pick<Logger, 'warn' | 'info'>,
): Promise<void> {
  const client = await connect(patientAtStart(connection), 'start', false)
  try {
    const { free } = await readOutsideFacts(client)
    const { need, fits } = processesFor(free, poolSize)
    log[fits < 2 ? 'warn' : 'info'](
      { connections_of_a_process: need, connections_free: free, processes: fits },
      'space of the database for processes',
    )
  } finally {
    await client.end()
  }
}
