import type { Clock } from '../platform/clock.ts'
import { type Allowance, createAllowance } from '../platform/db/allowance.ts'
import type { Connection } from '../platform/db/connection.ts'
import { connectPrimary } from '../platform/db/timeline.ts'
import type { Logger } from '../platform/log.ts'
import { countCounters } from './sql.ts'

/** How many rows of counters each workspace has in Postgres, and may have. */
export function openCounterRows(
  connection: Connection,
  limit: number,
  { monotonic }: Clock,
  log: Pick<Logger, 'warn'>,
): Allowance {
  return createAllowance({
    limit,
    monotonic,
    log,
    async count(workspaceId) {
      const client = await connectPrimary(connection, 'counter rows', false)
      try {
        await client.query(`set statement_timeout = '5s'`)
        const { rows } = await client.query(countCounters.text, [workspaceId, limit + 1])
        return rows[0].rows
      } finally {
        await client.end()
      }
    },
  })
}
