import type pg from 'pg'
import type { CountedEnv } from '../platform/db/lanes/allowance.ts'
import { findInvented, removeInvented } from './sql.ts'

/** So that no check waits for long for a row that is deleted. */
const rowsAtOnce = 1_000
/** At most so many in one go; the next count goes on. */
const rowsMost = 100_000

/**
 * Deletes counters of ids that belong to neither a key of the project nor a tenant, in the order in which they end. A check
 * looks no id up, so a caller can invent ids; near a limit their counters make space for those of real keys and tenants.
 * @param wanted how many, if there are so many.
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
