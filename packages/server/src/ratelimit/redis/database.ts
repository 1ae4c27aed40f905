import type pg from 'pg'
import { readWorkspaceFacts } from '../../gate/workspace-facts.ts'
import type { Errands } from '../../platform/db/pool/errands.ts'
import { findPaidTogether, pickInvented } from '../sql.ts'
import { subjectColumns } from '../stored-counters.ts'
import type { RedisCountersOptions } from './redis.ts'

const statementMs = 5_000
/** How many workspaces of one person are added up at most. */
const workspacesMost = 100

/** Reads from the database for counters in Redis. No check waits for these reads. */
export function databaseOf(
  errands: Pick<Errands, 'ask'>,
): Pick<RedisCountersOptions, 'factsOf' | 'inventedOf'> {
  const ask = <Found>(work: (client: pg.Client) => Promise<Found>): Promise<Found> =>
    errands.ask('counter rows', statementMs, work)
  return {
    factsOf: workspaceId =>
      ask(async client => {
        const facts = await readWorkspaceFacts(client, workspaceId)
        const { rows } = await client.query(findPaidTogether.text, [workspaceId, workspacesMost])
        const [{ workspace_ids, projects }] = rows
        return { ...facts, workspaceIds: workspace_ids, projects }
      }),
    inventedOf: subjects =>
      ask(async client => {
        const { rows } = await client.query(pickInvented.text, subjectColumns(subjects))
        return rows.flatMap(({ nth }) => subjects[Number(nth) - 1] ?? [])
      }),
  }
}
