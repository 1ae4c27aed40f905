import type pg from 'pg'
import { isDeadlock } from './errors.ts'
import { untilNone } from './upkeep.ts'

/**
 * Rows that refer to nothing, and that lanes write together with those of other workspaces: whoever holds one for long
 * keeps all of these waiting.
 */
const looseTables = [
  'policy_nodes',
  'rate_counters',
  'idempotency_claims',
  'idempotency_bodies',
  'idempotency_stored',
  'usage_reports',
  'usage_hours',
  'usage_months',
  'security_events',
] as const

/** Each before those that it refers to. `workspaces` itself comes last. */
const boundTables = [
  'audit_addresses',
  'audit_logs',
  'audit_heads',
  'policy_changes',
  'policy_tenants',
  'policy_heads',
  'api_keys',
  'secret_keys',
  'tenants',
  'projects',
  'leak_reports',
  'replays',
  'credentials',
  'workspace_invites',
  'workspace_members',
  'workspace_slugs',
] as const

/** Every table with rows of a workspace. A test compares this with what the database says. */
export const workspaceTables = [...looseTables, ...boundTables] as const

/** A large answer is some thousand rows of the store's own; of anything else, a thousand rows take some milliseconds. */
const rowsAtOnce = (table: (typeof looseTables)[number]) => (table === 'idempotency_bodies' ? 50 : 1_000)

/**
 * What tells of it afterwards, since the events of the workspace go with it: one row of no workspace for the operator, and
 * one for each member. The id is a UUIDv7, as the service makes them.
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
 * Removes a workspace and everything in it for good, as the role that owns the tables: in one transaction what is bound
 * together, its credentials with it, and then, when nobody can add to them any more, the loose rows in short batches.
 * @returns how many rows went, by table; null when there is no such workspace.
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
      if (!isDeadlock(error) || tries === triesMax) throw error
    }
  }
}

async function removeBoundRows(client: pg.ClientBase, id: string): Promise<Record<string, number> | null> {
  // Every mutation holds the workspace until it ends: those under way end first, and later ones wait and find nothing.
  await client.query('select end_rights($1::uuid, array[$1::uuid])', [id])
  // In the order of all who change keys: those under way end first, and the next ones wait where they hold nothing.
  await client.query('select from policy_heads where workspace_id = $1 order by project_id for update', [id])
  await client.query('select from audit_heads where workspace_id = $1 for update', [id])
  // Nobody can add a row that refers to the workspace while this lock is held.
  const { rows } = await client.query('select id from workspaces where id = $1 for update', [id])
  if (rows.length === 0) return null
  const removed: Record<string, number> = {}
  const remove = async (table: string, condition: string) => {
    const { rowCount } = await client.query(`delete from ${table} where ${condition}`, [id])
    removed[table] = (removed[table] ?? 0) + (rowCount ?? 0)
  }
  await client.query(rememberRemoval, [id])
  for (const table of boundTables) await remove(table, 'workspace_id = $1')
  // The answer to its own creation is kept outside of any workspace.
  await remove('replays', `workspace_id = '00000000-0000-0000-0000-000000000000' and body->>'id' = $1::text`)
  await remove('workspaces', 'id = $1')
  return removed
}

/**
 * Removes the loose rows of a workspace that is gone: each batch a transaction of its own, which passes by what somebody
 * holds. A request that a process lets in meanwhile, from what it has looked up, may leave some more: these expire.
 * @returns how many rows went, by table.
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

/** Waits for who holds a row, if there is one, and holds nothing meanwhile. @returns whether there is one still. */
async function outlasts(client: pg.ClientBase, table: string, id: string): Promise<boolean> {
  const one = `select from ${table} where workspace_id = $1 limit 1 for update`
  return (await client.query(one, [id])).rowCount === 1
}
