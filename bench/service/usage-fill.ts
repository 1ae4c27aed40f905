import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import type { Vendor } from './vendor.ts'

/** Every key in every hour, up to this one. */
const FILL_HOURS = `
  insert into usage_hours (workspace_id, key_id, hour, requests)
  select k.workspace_id, k.id, date_trunc('hour', now()) - h * interval '1 hour', 1 + (h % 7)
  from generate_series(0, $2::int - 1) h cross join api_keys k
  where k.workspace_id = $1`

const FILL_MONTHS = `
  insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
  select h.workspace_id, date_trunc('month', h.hour at time zone 'UTC')::date, k.tenant_id, k.project_id, k.env, sum(h.requests)
  from usage_hours h join api_keys k on k.workspace_id = h.workspace_id and k.id = h.key_id
  where h.workspace_id = $1
  group by 1, 2, 3, 4, 5`

/** The rows that reports of as many hours leave, by SQL alone. @returns rows of hours. */
export async function fillUsage(
  { query }: ScratchPostgres,
  { workspaceId }: Vendor,
  hours: number,
): Promise<number> {
  await query(FILL_HOURS, [workspaceId, hours])
  await query(FILL_MONTHS, [workspaceId])
  // What an autovacuum would have done with enough time.
  await query('vacuum analyze usage_hours')
  await query('vacuum analyze usage_months')
  await query('checkpoint')
  const [row] = await query('select count(*)::float8 as rows from usage_hours where workspace_id = $1', [
    workspaceId,
  ])
  return Number(row?.rows)
}
