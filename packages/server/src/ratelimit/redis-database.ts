import { readWorkspaceFacts } from '../gate/workspace-facts.ts'
import type { Connection } from '../platform/db/connection.ts'
import { connectPrimary } from '../platform/db/timeline.ts'
import type { RedisCountersOptions } from './redis.ts'
import { findPaidTogether, pickInvented } from './sql.ts'
import { subjectColumns } from './stored-counters.ts'

/** As many workspaces of one person are added up at most. */
const workspacesMost = 100

/** What counters in Redis need from the database. No check waits for it. */
export function databaseOf(connection: Connection): Pick<RedisCountersOptions, 'factsOf' | 'inventedOf'> {
  const ask = async <Found>(work: (client: Client) => Promise<Found>): Promise<Found> => {
    const client = await connectPrimary(connection, 'counter rows', false)
    try {
      await client.query(`set statement_timeout = '5s'`)
      return await work(client)
    } finally {
      await client.end()
    }
  }
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

type Client = Awaited<ReturnType<typeof connectPrimary>>
