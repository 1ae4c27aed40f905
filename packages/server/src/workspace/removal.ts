import type pg from 'pg'
import { isUndone } from '../platform/db/errors.ts'
import { untilNone } from '../platform/db/upkeep.ts'

/**
 * Tables whose rows refer to nothing, and in which lanes write rows of several workspaces together: a long lock on one row
 * would block the writes of all these workspaces.
 */
const looseTables = [
  'policy_nodes',
  'rate_counters',
  'idempotency_claims',
  'idempotency_bodies',
  'idempotency_held',
  'idempotency_stored',
  'usage_reports',
  'usage_hours',
  'usage_months',
  'usage_days',
  'refusal_days',
  'shadow_days',
  'security_events',
  'workspace_loads',
] as const

/** Each table stands before the tables that it refers to. `workspaces` itself comes last. */
const boundTables = [
  'audit_callers',
  'audit_addresses',
  'audit_logs',
  'audit_heads',
  'policy_changes',
  'policy_tenants',
  'policy_heads',
  'name_words',
  'api_keys',
  'secret_keys',
  'tenants',
  'projects',
  'leak_reports',
  'leak_letters',
  'endings',
  'bulk_operations',
  'replays',
  'credentials',
  'workspace_invites',
  'workspace_members',
  'workspace_slugs',
] as const

/** Every table with rows of a workspace. A test compares this with the database. */
export const workspaceTables = [...looseTables, ...boundTables] as const

/** Postgres stores a large response as some thousand TOAST rows; a thousand rows of another table take some milliseconds. */
const rowsAtOnce = (table: (typeof looseTables)[number]) => (table === 'idempotency_bodies' ? 50 : 1_000)

/**
 * Records the removal, because the events of the workspace are removed with it: one row without a workspace for
 * the operator, and one for each member. The id is a UUIDv7, as the service makes them.
 */
const rememberRemoval = `insert into security_events
    (workspace_id, id, kind, user_id, actor_type, count, details, created_at, last_at)
  select '00000000-0000-0000-0000-000000000000',
    encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
      substring(int8send((extract(epoch from clock.now) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid,
    'workspace_deleted', p.user_id, 'operator', 1,
    jsonb_build_object('workspace_id', w.id, 'slug', w.slug), clock.now, clock.now
  from workspaces w, (select service_now() as now) clock,
    (select null::uuid as user_id union all
     select user_id from workspace_members where workspace_id = $1 and removed_at is null) p
  where w.id = $1`

/** A limit of tries: the service keeps running, and a mutation may lock the same rows in another order, so that they deadlock. */
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
 * Removes a workspace and everything in it for good, as the role that owns the tables: first, in one transaction, the rows that
 * refer to each other, including its credentials; then, when no rows can be added any more, the loose rows in short batches.
 * @returns how many rows were removed, by table; null if the workspace does not exist.
 */
export async function removeWorkspace(
  client: pg.ClientBase,
  id: string,
): Promise<Record<string, number> | null> {
  const bound = await removeBound(client, id)
  return bound && { ...(await removeLoose(client, id)), ...bound }
}

async function removeBound(client: pg.ClientBase, id: string): Promise<Record<string, number> | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query('begin')
      const removed = await removeBoundRows(client, id)
      await client.query('commit')
      return removed
    } catch (error) {
      await client.query('rollback').catch(() => {})
      if (!isUndone(error) || tries === triesMax) throw error
    }
  }
}

async function removeBoundRows(client: pg.ClientBase, id: string): Promise<Record<string, number> | null> {
  // Every mutation holds the workspace until it ends: running mutations end first, and later ones wait and find nothing.
  await client.query('select end_rights($1::uuid, array[$1::uuid])', [id])
  // In the order of all changes of keys: running changes end first, and later ones wait without holding a lock.
  await client.query('select from policy_heads where workspace_id = $1 order by project_id for update', [id])
  await client.query('select from audit_heads where workspace_id = $1 for update', [id])
  // While this lock is held, no row that refers to the workspace can be added.
  const { rows } = await client.query('select id from workspaces where id = $1 for update', [id])
  if (rows.length === 0) return null
  const removed: Record<string, number> = {}
  const remove = async (table: string, condition: string) => {
    const { rowCount } = await client.query(`delete from ${table} where ${condition}`, [id])
    removed[table] = (removed[table] ?? 0) + (rowCount ?? 0)
  }
  await client.query(rememberRemoval, [id])
  for (const table of boundTables) await remove(table, 'workspace_id = $1')
  // The response to its creation is kept without a workspace.
  await remove('replays', `workspace_id = '00000000-0000-0000-0000-000000000000' and body->>'id' = $1::text`)
  await remove('workspaces', 'id = $1')
  return removed
}

/**
 * Removes the loose rows of a removed workspace: each batch in a separate transaction, which skips locked rows. A process that
 * has just looked the workspace up may still add some rows; these expire.
 * @returns how many rows were removed, by table.
 */
export async function removeLoose(client: pg.ClientBase, id: string): Promise<Record<string, number>> {
  const removed: Record<string, number> = {}
  for (const table of looseTables) {
    removed[table] = 0
    do {
      removed[table] += await untilNone(async () => {
        const batch = `select ctid from ${table} where workspace_id = $1 limit ${rowsAtOnce(table)} for update skip locked`
        const { rowCount } = await client.query(`delete from ${table} where ctid = any(array(${batch}))`, [
          id,
        ])
        return rowCount ?? 0
      })
    } while (await outlasts(client, table, id))
  }
  return removed
}

/** Waits for the holder of a row, if there is one, without holding a lock. @returns whether a row is left. */
async function outlasts(client: pg.ClientBase, table: string, id: string): Promise<boolean> {
  const one = `select from ${table} where workspace_id = $1 limit 1 for update`
  return (await client.query(one, [id])).rowCount === 1
}
