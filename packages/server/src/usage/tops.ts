import type { Env } from '@keyrail/contract/shared'
import type { TopUsage } from '@keyrail/contract/vendor/usage'
import { sql } from '../platform/db/connection.ts'
import { readInOrder } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { all } from './statements.ts'

/**
 * Who made the most requests. No index has the rows in that order, because every report would write it again. So each figure
 * reads a limited number of rows, enough to read a workspace of usual size in full, and says whether a row that was not read
 * could belong among the rows that are shown.
 */

/** How many rows of months, or of days of projects, are read: those of two months of 10,000 tenants with one project each. */
const looksMax = 20_000
/** How many tenants have their days added up. */
const tenantsMax = 50
/** How many tenants have their keys read. */
const keyTenantsMax = 20
const keysPerTenantMax = 200
/** How many keys have their hours added up: at most 720 rows each. */
const keysMax = 100

/** Parameters: workspace, environment, days, project or null, tenant or null, how many rows. */
const span = `span as materialized (
     select day - ($3::int - 1) as first, day as last
     from (select (service_now() at time zone 'UTC')::date as day) today
   )`
const inSpan = (column: string) => `${column} between (select first from span) and (select last from span)`

/**
 * Tenants by the requests of the months that the span touches, the largest first. A tenant has at most as many requests in the
 * span as in these months, so each later tenant has at most `most`.
 */
const tenants = (limit: number) => `
   looked as materialized (
     select u.tenant_id, u.requests from usage_months u
     where u.workspace_id = $1 and u.env = $2
       and u.month between (select date_trunc('month', first)::date from span) and (select last from span)
       and ($4::uuid is null or u.project_id = $4) and ($5::uuid is null or u.tenant_id = $5)
     order by u.month desc, u.tenant_id desc, u.project_id desc, u.env desc limit ${looksMax + 1}
   ),
   ranked as materialized (
     select tenant_id, sum(requests) as most, row_number() over (order by sum(requests) desc, tenant_id) as place
     from looked group by tenant_id order by most desc, tenant_id limit ${limit + 1}
   )`
const tooManyMonths = `(select count(*) from looked) > ${looksMax}`
const tenantAfter = (limit: number) => `(select most from ranked where place = ${limit + 1})`

/**
 * @param name of the statement
 * @param parts the tables before `totals`, which has `id`, `requests`, `estimated` and, of a key, `key`
 * @param rest the most requests of anything that is not in `totals`; null: nothing is left out
 * @param isCut whether `rest` is unknown
 */
const top = (name: string, parts: readonly string[], { rest, isCut }: { rest: string; isCut: string }) =>
  sql(
    name,
    `with ${[span, ...parts].join(',')},
   shown as materialized (select * from totals where requests > 0 order by requests desc, id limit $6)
   select not ${isCut} and coalesce(${rest}, 0) <=
       case when (select count(*) from shown) = $6 then (select min(requests) from shown) else 0 end as exact,
     coalesce((select json_agg(json_build_object('id', id, 'request_count', round(requests), 'estimated', estimated, 'key', key)
       order by requests desc, id) from shown), '[]') as data`,
  )

const byTenant = top(
  'usage.top_tenants',
  [
    tenants(tenantsMax),
    `totals as (
     select r.tenant_id as id, sum(u.requests) as requests, bool_or(u.estimated) as estimated, null::json as key
     from ranked r cross join lateral (
       select u.requests, u.estimated from usage_days u
       where u.workspace_id = $1 and u.env = $2 and u.tenant_id = r.tenant_id and ${inSpan('u.day')}
         and ($4::uuid is null or u.project_id = $4)
       offset 0
     ) u
     where r.place <= ${tenantsMax} group by r.tenant_id
   )`,
  ],
  { rest: tenantAfter(tenantsMax), isCut: tooManyMonths },
)

/** With COALESCE, row-level security would keep Postgres from using the index for this condition. */
const tenantOrAll = `case when $5::uuid is null then ${all} else $5::uuid end`
const byProject = top(
  'usage.top_projects',
  [
    `looked as materialized (
     select u.project_id, u.requests, u.estimated from usage_days u
     where u.workspace_id = $1 and u.env = $2 and u.tenant_id = ${tenantOrAll} and ${inSpan('u.day')}
       and u.project_id <> ${all} and ($4::uuid is null or u.project_id = $4)
     order by u.project_id, u.day limit ${looksMax + 1}
   )`,
    `totals as (
     select project_id as id, sum(requests) as requests, bool_or(estimated) as estimated, null::json as key
     from looked group by project_id
   )`,
  ],
  { rest: 'null::numeric', isCut: tooManyMonths },
)

/**
 * The newest keys of the tenants with the most requests: the index by tenant has those that are revoked apart, so the newest of
 * both parts are merged. A key that is left out has at most as many requests as its tenant.
 */
const keys = `
   owned as materialized (
     select k.*, r.most, r.place, count(*) over (partition by r.tenant_id) > ${keysPerTenantMax} as is_cut
     from ranked r cross join lateral (
       select part.* from unnest('{f,t}'::boolean[]) half (is_revoked) cross join lateral (
         select k.id, k.env, k.name, k.display_prefix, k.tenant_id, k.project_id from api_keys k
         where k.workspace_id = $1 and k.tenant_id = r.tenant_id and k.is_revoked = half.is_revoked
         order by k.id desc limit ${keysPerTenantMax + 1}
       ) part order by part.id desc limit ${keysPerTenantMax + 1}
     ) k
     where r.place <= ${keyTenantsMax}
   ),
   taken as materialized (
     select *, row_number() over (order by place, id desc) as number from owned
     where env = $2 and ($4::uuid is null or project_id = $4) order by place, id desc limit ${keysMax + 1}
   )`
const keyLeftOut = `greatest(${tenantAfter(keyTenantsMax)}, (select max(most) from owned where is_cut),
       (select most from taken where number = ${keysMax + 1}))`

const byKey = top(
  'usage.top_keys',
  [
    tenants(keyTenantsMax),
    keys,
    `totals as (
     select k.id, h.requests, h.estimated, json_build_object('name', k.name, 'display_prefix', k.display_prefix,
       'tenant_id', k.tenant_id, 'project_id', k.project_id) as key
     from taken k cross join lateral (
       select sum(h.requests) as requests, bool_or(h.estimated) as estimated from usage_hours h
       where h.workspace_id = $1 and h.key_id = k.id
         and h.hour >= (select first::timestamp at time zone 'UTC' from span)
         and h.hour < (select (last + 1)::timestamp at time zone 'UTC' from span)
     ) h
     where k.number <= ${keysMax}
   )`,
  ],
  { rest: keyLeftOut, isCut: tooManyMonths },
)
const statements = { tenant: byTenant, project: byProject, key: byKey }

export interface TopFilter {
  readonly by: TopUsage['by']
  readonly env: Env
  readonly days: number
  readonly projectId: string | null
  readonly tenantId: string | null
  /** How many rows at most. */
  readonly most: number
}
/** The largest first. The caller has checked that the environment may be seen. */
export async function readTopUsage(tx: ReadTx, filter: TopFilter): Promise<TopUsage> {
  const { by, env, days, projectId, tenantId, most } = filter
  tx.send(readInOrder)
  const values = [tx.workspaceId, env, days, projectId, tenantId, most]
  const [row] = await tx.query<Pick<TopUsage, 'exact' | 'data'>>(statements[by], values)
  return { object: 'top_usage', by, env, days, exact: row?.exact ?? false, data: row?.data ?? [] }
}
