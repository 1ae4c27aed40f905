import type pg from 'pg'
import { countRows, listLoads, readLabels } from './ranking-sql.ts'
import type { WorkspaceLabel } from './removal.ts'
import { workspaceTables } from './removal.ts'

/** What workspaces can be ranked by. */
export const measures = ['requests', 'connections', 'rows'] as const
export type Measure = (typeof measures)[number]

export interface RankedByLoad extends WorkspaceLabel {
  /** In the current hour and the 24 before it. */
  readonly requests: number
  /** How long transactions of the workspace held connections of the pools in these hours, in ms. */
  readonly connectionMs: number
}

export interface RankedByRows extends WorkspaceLabel {
  readonly rows: number
  /** The table with most of the workspace's rows. */
  readonly largest: { readonly table: string; readonly rows: number }
}

/** The workspaces with most load first, as the role that owns the tables. */
export async function rankByLoad(
  client: pg.ClientBase,
  by: Exclude<Measure, 'rows'>,
  limit: number,
): Promise<RankedByLoad[]> {
  const { rows } = await client.query(listLoads, [by, limit])
  return rows.map(({ requests, connection_ms, ...label }) => ({
    ...label,
    requests: Number(requests),
    connectionMs: Number(connection_ms),
  }))
}

/** The workspaces with most rows first. It reads every table completely, one after the other. */
export async function rankByRows(client: pg.ClientBase, limit: number): Promise<RankedByRows[]> {
  const counts = new Map<string, { rows: number; largest: RankedByRows['largest'] }>()
  for (const table of workspaceTables) {
    for (const { id, rows: text } of (await client.query(countRows(table))).rows) {
      const rows = Number(text)
      const { rows: before, largest } = counts.get(id) ?? { rows: 0, largest: { table, rows: 0 } }
      counts.set(id, { rows: before + rows, largest: rows > largest.rows ? { table, rows } : largest })
    }
  }
  const { rows: labels } = await client.query<WorkspaceLabel>(readLabels, [[...counts.keys()]])
  return labels
    .map(label => ({ ...label, ...(counts.get(label.id) as NonNullable<ReturnType<typeof counts.get>>) }))
    .sort((a, b) => b.rows - a.rows || (a.slug < b.slug ? -1 : 1))
    .slice(0, limit)
}
