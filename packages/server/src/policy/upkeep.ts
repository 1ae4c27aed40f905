import type pg from 'pg'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { forgetNodes } from './nodes-sql.ts'
import { findCuts, raiseFloorTo, removeChanges } from './sql.ts'

/** Per project. A node that polls from an older version gets a snapshot. */
const keptChanges = 100_000
const projectsAtOnce = 100
const rowsAtOnce = 5_000
const nowhere = '00000000-0000-0000-0000-000000000000'

interface Cut {
  workspace_id: string
  project_id: string
  /** Changes up to this version are deleted; null: none are. */
  cut: number | null
}

/** Deletes changes that are older than 7 days, or beyond the newest 100,000 of their project. */
export const pruneChanges: Chore = {
  name: 'policy changes',
  async run(client) {
    let removed = 0
    let last: Cut | undefined = { workspace_id: nowhere, project_id: nowhere, cut: null }
    while (last !== undefined) {
      const values: unknown[] = [last.workspace_id, last.project_id, projectsAtOnce, keptChanges]
      const { rows }: { rows: Cut[] } = await client.query({ ...findCuts, values })
      for (const row of rows) if (row.cut !== null) removed += await prune(client, row)
      last = rows.at(-1)
    }
    return removed
  },
}

/** Raises the floor first, so that no request reads the rows that are deleted. */
async function prune(client: pg.ClientBase, { workspace_id, project_id, cut }: Cut): Promise<number> {
  const values = [workspace_id, project_id, cut]
  await client.query({ ...raiseFloorTo, values })
  return await untilNone(
    async () => (await client.query({ ...removeChanges, values: [...values, rowsAtOnce] })).rowCount ?? 0,
  )
}

/** Deletes nodes that were silent for a day. */
export const pruneNodes: Chore = {
  name: 'policy nodes',
  run: client =>
    untilNone(async () => (await client.query({ ...forgetNodes, values: [rowsAtOnce] })).rowCount ?? 0),
}
