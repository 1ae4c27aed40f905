import { activeKeysMax } from '../../packages/contract/src/vendor/overview.ts'
import type { AuditSubjects } from './dashboard-fill.ts'
import type { Vendor } from './vendor.ts'

const PAGE = 50
/** The sum over all tenants stands under this id. */
const ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A read over HTTP and in SQL, and what both must have found. */
export interface Read {
  metric: string
  path: string
  sql: string
  /** The rows of psql that the answer stands for; of a list the first column. */
  rowsOf(answer: Record<string, unknown>): string[]
}

type List = Record<string, unknown>[]
const column = (name: string) => (answer: Record<string, unknown>) =>
  (answer.data as List).map(row => String(row[name]))

const overviewSql = (workspaceId: string) => {
  const keys = `api_keys where workspace_id = '${workspaceId}' and env = 'live' and revoked_at is null`
  const columns = 'id, name, display_prefix, project_id, tenant_id, expires_at, last_used_at, created_at'
  const idle = `${keys} and idle_since < now() - interval '90 days'`
  const days = `select day, requests from usage_days where workspace_id = '${workspaceId}' and env = 'live'
    and tenant_id = '${ALL}' and project_id = tenant_id
    and day > (now() at time zone 'UTC')::date - 30`
  return `
    select case when e.endless > ${activeKeysMax} then ${activeKeysMax} else least(${activeKeysMax}, e.endless
        + (select count(*) from (select from ${keys} and expires_at > now() limit ${activeKeysMax + 1}) c)) end,
      (select least(count(*), 1000) from ${keys} and expires_at between now() and now() + interval '14 days'),
      (select count(*) from (select from ${idle} limit 1000) c),
      (select count(*) from (select from ${keys} and expires_at is null limit 1000) c),
      (select sum(requests) from (${days}) d),
      (select count(*) from policy_nodes where workspace_id = '${workspaceId}' and sees in ('live', 'both')),
      (select count(distinct tenant_id) from usage_months where workspace_id = '${workspaceId}' and env = 'live'
         and month = date_trunc('month', now() at time zone 'UTC')),
      octet_length(concat(
        (select json_agg(e) from (select ${columns} from ${keys} and expires_at > now() order by expires_at limit 5) e),
        (select json_agg(e) from (select ${columns} from ${idle} order by idle_since limit 5) e),
        (select json_agg(e) from (select ${columns} from ${keys} and expires_at is null order by id limit 5) e))) > 0
    from (select count(*) as endless from (select from ${keys} and expires_at is null limit ${activeKeysMax + 1}) c
      offset 0) e`
}

/** The columns of `overviewSql`. */
function overviewRow(answer: Record<string, unknown>): string[] {
  const { active_keys, requests, billable_tenants, needs_attention } = answer as Record<
    string,
    Record<string, number>
  >
  const { expiring_keys, unused_keys, endless_keys } = needs_attention as unknown as Record<
    string,
    { count: number }
  >
  const { nodes_read } = answer as unknown as { nodes_read: number }
  const figures = [active_keys?.count, expiring_keys?.count, unused_keys?.count, endless_keys?.count]
  return [[...figures, requests?.total, nodes_read, billable_tenants, 't'].join('|')]
}

/** Every read of the dashboard that a page waits for. */
export function dashboardReads(
  {
    workspaceId,
    projectId,
    tenantIds: [tenantId = ''],
  }: Pick<Vendor, 'workspaceId' | 'projectId' | 'tenantIds'>,
  { actor, target }: AuditSubjects,
  nodes: number,
): Read[] {
  const audit = (metric: string, filter: string, condition: string): Read => ({
    metric: `audit ${metric} ms`,
    path: `/v1/audit_logs?order=desc&limit=${PAGE}${filter}`,
    sql: `select seq, action, actor_type, actor_id, target_type, target_id, env, payload, created_at, prev_hash, hash
      from audit_logs where workspace_id = '${workspaceId}' ${condition} order by seq desc limit ${PAGE}`,
    rowsOf: column('seq'),
  })
  const keys = (metric: string, filter: string, condition: string, order: string): Read => ({
    metric: `keys ${metric} ms`,
    path: `/v1/keys?env=live&limit=${PAGE}&${filter}`,
    sql: `select id, name, display_prefix, scopes, rate_limits, meta, project_id, tenant_id, expires_at, last_used_at,
        created_at, updated_at
      from api_keys where workspace_id = '${workspaceId}' and env = 'live' and ${condition} order by ${order} limit ${PAGE}`,
    rowsOf: column('id'),
  })
  const daily = (metric: string, filter: string, condition: string): Read => ({
    metric: `daily ${metric} ms`,
    path: `/v1/usage/daily?${filter}`,
    sql: `select to_char(day, 'YYYY-MM-DD'), sum(requests) from usage_days where workspace_id = '${workspaceId}'
      and env in ('live', 'test') and ${condition} and day > (now() at time zone 'UTC')::date - 30
      group by day order by day`,
    rowsOf: answer => (answer.data as List).map(({ date, request_count }) => `${date}|${request_count}`),
  })
  return [
    {
      metric: 'overview ms',
      path: '/v1/overview',
      sql: overviewSql(workspaceId),
      // Nodes may fall silent during the run, so their number is that of the rows that both read.
      rowsOf: answer => overviewRow({ ...answer, nodes_read: nodes }),
    },
    {
      metric: 'nodes ms',
      path: `/v1/projects/${projectId}/nodes?limit=${PAGE}`,
      sql: `select node, sees, version, seen_at from policy_nodes where workspace_id = '${workspaceId}' and project_id = '${projectId}'
        order by seen_at desc, sees desc, node desc limit ${PAGE}`,
      rowsOf: column('node'),
    },
    audit('newest', '', ''),
    audit('by action', '&action=project.updated', `and action = 'project.updated'`),
    audit('by actor', `&actor_id=${actor}`, `and actor_id = '${actor}'`),
    audit('by target', `&target_id=${target}`, `and target_id = '${target}'`),
    audit('of live', '&env=live', `and env = 'live'`),
    daily('of a tenant', `tenant_id=${tenantId}`, `tenant_id = '${tenantId}'`),
    daily('of a project', `project_id=${projectId}`, `project_id = '${projectId}' and tenant_id = '${ALL}'`),
    keys(
      'by prefix',
      'q=kr_live_',
      `not is_revoked and display_prefix_folded between 'kr_live_' and 'kr_live_~'`,
      'display_prefix_folded, id',
    ),
    keys(
      'that expire',
      'status=expiring',
      `revoked_at is null and expires_at > now() and expires_at <= now() + interval '14 days'`,
      'expires_at, id',
    ),
    {
      metric: 'tenants by id ms',
      path: `/v1/tenants?limit=${PAGE}&q=filled-1`,
      sql: `select id, external_id, name, meta, created_at, updated_at from tenants where workspace_id = '${workspaceId}'
        and deleted_at is null and external_id_folded between 'filled-1' and 'filled-1~'
        order by external_id_folded, id limit ${PAGE}`,
      rowsOf: column('id'),
    },
  ]
}
