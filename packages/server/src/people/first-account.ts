import { type Connection, withConnectMs } from '../platform/db/connection.ts'
import { connectPrimary } from '../platform/db/failover/timeline.ts'
import { findAnyAccount } from './sql.ts'

/** Whether this installation waits for its first account. */
export interface FirstAccount {
  /** False also when the database does not answer in time: the page then shows what it shows to everyone. */
  isMissing(): Promise<boolean>
}

/**
 * Asks the database until there is an account, and never again, so that later no page waits for the database. Callers at the
 * same time share one question, so strangers open one connection at most.
 * @param watchdogMs how long a page waits for the connection, and again for its answer.
 */
export function openFirstAccount(connection: Connection, watchdogMs: number): FirstAccount {
  let exists = false
  let asking: Promise<boolean> | undefined
  const ask = async (): Promise<boolean> => {
    const client = await connectPrimary(withConnectMs(connection, watchdogMs), 'first account', false)
    try {
      await client.query(`set statement_timeout = ${watchdogMs}`)
      const { rows } = await client.query(findAnyAccount)
      exists = rows[0]?.found === true
      return !exists
    } finally {
      await client.end()
    }
  }
  return {
    async isMissing() {
      if (exists) return false
      asking ??= ask()
        .catch(() => false)
        .finally(() => {
          asking = undefined
        })
      return await asking
    },
  }
}
