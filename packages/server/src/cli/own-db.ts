import { serviceBudgets } from '../platform/budgets.ts'
import type { Connection } from '../platform/db/connection.ts'
import { type Db, unbound } from '../platform/db/db.ts'
import { createIdleConnections } from '../platform/db/pool/idle.ts'
import { openPool } from '../platform/db/pool/pool.ts'
import { uncounted } from '../platform/observe/metrics.ts'

/** Opens the transactions of the service for a command, on one connection, and closes it after the work. */
export async function withDb<T>(connection: Connection, work: (db: Db) => Promise<T>): Promise<T> {
  const pool = openPool({
    connection,
    size: 1,
    budgets: serviceBudgets,
    hints: { announce() {} },
    lanes: { idle: createIdleConnections() },
    observer: uncounted,
  })
  try {
    return await work(pool.bind(unbound))
  } finally {
    await pool.close()
  }
}
