import { randomUUID } from 'node:crypto'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { fillKeys } from './keys-fill.ts'
import type { Vendor } from './vendor.ts'

/** How much of everything there is. */
export type DashboardSize = { keys: number; tenants: number; auditRows: number; nodes: number }

/** Who and what the rows of the audit log are about. */
export type AuditSubjects = { actor: string; target: string }

/** The requests of each tenant, their sums by project and for the workspace, and the tenants of the month. */
const FILL_DAYS = `
  insert into usage_days (workspace_id, env, tenant_id, project_id, day, requests)
  select $1, 'live', coalesce(t.id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    coalesce(t.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), today.day - back, count(*) * 7
  from (select id, $2::uuid as project_id from tenants where workspace_id = $1) t
    cross join (select (now() at time zone 'UTC')::date as day) today cross join generate_series(0, 29) back
  group by grouping sets ((today.day - back), (t.project_id, today.day - back),
    (t.id, t.project_id, today.day - back))`

const FILL_MONTH = `
  insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
  select workspace_id, date_trunc('month', now() at time zone 'UTC')::date, id, $2, 'live', 7
  from tenants where workspace_id = $1`

/** A quarter of the keys expires within two weeks to a year; a quarter was not used for long. */
const AGE_KEYS = `
  update api_keys set
    expires_at = case when n % 4 = 0 then now() + n % 365 * interval '1 day' + interval '1 hour' end,
    last_used_at = now() - case when n % 4 = 1 then interval '200 days' else interval '1 day' end,
    idle_since = now() - case when n % 4 = 1 then interval '200 days' else interval '6 days' end
  from (select id as of, row_number() over (order by id) as n from api_keys where workspace_id = $1) numbered
  where workspace_id = $1 and id = of`

/** One row in a thousand is what a filter looks for. The hashes are those of no chain. */
const FILL_AUDIT = `
  insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, payload,
    created_at, prev_hash, hash)
  select $1, 1000000 + n, case when n % 1000 = 0 then 'project.updated' else 'api_key.created' end, 'secret_key',
    case when n % 1000 = 0 then $2 else 'a' || n % 50 end, case when n % 1000 = 0 then 'project' else 'api_key' end,
    case when n % 1000 = 0 then $3::uuid else gen_random_uuid() end, case when n % 1000 > 0 then 'live' end,
    '{"name":"bench","scopes":["orders:read","orders:write"]}', now(), sha256('bench'), sha256('bench')
  from generate_series(1, $4::int) n`

const FILL_NODES = `
  insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
  select $1, $2, 'both', 'node-' || n, 1, now() - n * interval '1 millisecond'
  from generate_series(1, $3::int) n`

/** Fills what the dashboard reads, by SQL alone. */
export async function fillDashboard(
  postgres: ScratchPostgres,
  vendor: Vendor,
  { keys, tenants, auditRows, nodes }: DashboardSize,
): Promise<AuditSubjects> {
  const { query } = postgres
  const { workspaceId, projectId } = vendor
  const subjects = { actor: randomUUID(), target: randomUUID() }
  const made = await query(
    `insert into tenants (workspace_id, id, external_id, created_at, updated_at)
     select $1, gen_random_uuid(), 'filled-' || n, now(), now() from generate_series(1, $2::int) n returning id`,
    [workspaceId, tenants - vendor.tenantIds.length],
  )
  const tenantIds = [...vendor.tenantIds, ...made.map(({ id }) => String(id))]
  await fillKeys(postgres, { ...vendor, tenantIds }, keys)
  await query(AGE_KEYS, [workspaceId])
  await query(FILL_DAYS, [workspaceId, projectId])
  await query(FILL_MONTH, [workspaceId, projectId])
  await query(FILL_AUDIT, [workspaceId, subjects.actor, subjects.target, auditRows])
  await query(FILL_NODES, [workspaceId, projectId, nodes])
  // What an autovacuum would have done with enough time.
  for (const table of ['tenants', 'api_keys', 'usage_days', 'usage_months', 'audit_logs', 'policy_nodes'])
    await query(`vacuum analyze ${table}`)
  await query('checkpoint')
  return subjects
}
