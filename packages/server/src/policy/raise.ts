import type pg from 'pg'
import { versionsRaisedBy } from '../platform/db/failover/timeline.ts'

/** How long the raise may take, and how long it may wait for another one. */
const raiseMs = 60_000

/**
 * Raises the version and the floor of every project, as a restore does, because the database may assign versions again that
 * nodes have seen. The same lock keeps new connections of the service out until it is done.
 * @returns the number of projects, or null if the database is a standby.
 */
export async function raisePolicies(client: pg.ClientBase): Promise<number | null> {
  await client.query(`begin; set local statement_timeout = ${raiseMs}; set local lock_timeout = ${raiseMs}`)
  try {
    const { rows } = await client.query(
      `select raise_store($1, true)::int as by,
         (select count(*)::int from policy_heads) as projects`,
      [versionsRaisedBy],
    )
    await client.query('commit')
    return rows[0].by === 0 ? null : rows[0].projects
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}
