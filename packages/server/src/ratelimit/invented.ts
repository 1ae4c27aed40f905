import type pg from 'pg'
import type { CountedEnv } from '../platform/db/lanes/allowance.ts'
import { findInvented, removeInvented } from './sql.ts'

/** The size of a batch, so that no check waits for long for a row that is deleted. */
const rowsAtOnce = 1_000
/** How many rows one run deletes at most; the next count of rows starts another run. */
const rowsMost = 100_000

/**
 * Deletes counters of ids that belong to neither a key of the project nor a tenant, in the order in which the counters end. A
 * check does not look ids up, so a caller can invent ids; near a limit, their counters make space for counters of real keys and
 * tenants.
 * @param wanted how many to delete, if there are so many.
 * @returns how many were deleted.
 */
export async function dropInvented(
  client: pg.ClientBase,
  { workspaceId, env, projectId }: CountedEnv,
  wanted: number,
): Promise<number> {
  const most = Math.min(wanted, rowsMost)
  const { rows } = await client.query(findInvented.text, [workspaceId, env, projectId, most])
  let dropped = 0
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const batch = rows.slice(from, from + rowsAtOnce)
    const { rowCount } = await client.query(removeInvented.text, [
      batch.map(() => workspaceId),
      batch.map(row => row.project_id),
      batch.map(() => env),
      batch.map(row => row.kind),
      batch.map(row => row.subject_id),
    ])
    dropped += rowCount ?? 0
  }
  return dropped
}
