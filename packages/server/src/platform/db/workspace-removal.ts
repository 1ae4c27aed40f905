import type pg from 'pg'
import { isDeadlock } from './errors.ts'

/**
 * Every table with rows of a workspace, each before those that it refers to. `workspaces` itself comes last.
 * A test compares this with what the database says.
 */
export const workspaceTables = [
  'audit_addresses',
  'audit_logs',
  'audit_heads',
  'policy_nodes',
  'rate_counters',
  'idempotency_claims',
  'idempotency_bodies',
  'policy_changes',
  'policy_heads',
  'api_keys',
  'secret_keys',
  'tenants',
  'projects',
  'replays',
  'credentials',
  'workspace_slugs',
] as const

/** The service goes on meanwhile, and a mutation may hold in another order what is to be removed. */
const triesMax = 5

export interface WorkspaceLabel {
  id: string
  name: string
  slug: string
}

export async function findWorkspaceLabel(client: pg.ClientBase, id: string): Promise<WorkspaceLabel | null> {
  const { rows } = await client.query('select id, name, slug from workspaces where id = $1', [id])
  return rows[0] ?? null
}

/**
 * Removes a workspace and everything in it for good, in one transaction, as the role that owns the tables.
 * @returns how many rows went, by table; null when there is no such workspace.
 */
export async function removeWorkspace(
  client: pg.ClientBase,
  id: string,
): Promise<Record<string, number> | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query('begin')
      const removed = await removeRows(client, id)
      await client.query('commit')
      return removed
    } catch (error) {
      await client.query('rollback').catch(() => {})
      if (!isDeadlock(error) || tries === triesMax) throw error
    }
  }
}

async function removeRows(client: pg.ClientBase, id: string): Promise<Record<string, number> | null> {
  // Nobody can add a row that refers to the workspace while this lock is held.
  const { rows } = await client.query('select id from workspaces where id = $1 for update', [id])
  if (rows.length === 0) return null
  const removed: Record<string, number> = {}
  const remove = async (table: string, condition: string) => {
    const { rowCount } = await client.query(`delete from ${table} where ${condition}`, [id])
    removed[table] = (removed[table] ?? 0) + (rowCount ?? 0)
  }
  for (const table of workspaceTables) await remove(table, 'workspace_id = $1')
  // The answer to its own creation is kept outside of any workspace.
  await remove('replays', `workspace_id = '00000000-0000-0000-0000-000000000000' and body->>'id' = $1::text`)
  await remove('workspaces', 'id = $1')
  return removed
}
