import type { Sight } from '../gate/principal.ts'
import { sql } from '../platform/db/connection.ts'
import { keepPlans } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { all } from './statements.ts'

const find = sql(
  'usage.find_key',
  `select id from api_keys where workspace_id = $1 and id = $2 and env = any($3::text[])
     and ($4::uuid[] is null or project_id = any($4))`,
)
export const keyIsThere = async (tx: ReadTx, keyId: string, { envs, projectIds }: Sight): Promise<boolean> =>
  (await tx.query(find, [tx.workspaceId, keyId, envs, projectIds])).length === 1

/** Counts come as text, because a sum may have more digits than a bigint. */
export interface DayRow {
  date: string
  request_count: string
  /** Whether a part of the requests is an estimate. */
  estimated: boolean
}
const days = sql(
  'usage.days',
  `with today as materialized (select date_trunc('day', service_now() at time zone 'UTC') as day),
   used as (
     select date_trunc('day', h.hour at time zone 'UTC') as day, sum(h.requests) as requests,
       bool_or(h.estimated) as estimated
     from usage_hours h
     where h.workspace_id = $1 and h.key_id = $2
       and h.hour >= (select (day - ($3::int - 1) * interval '1 day') at time zone 'UTC' from today)
       and h.hour < (select (day + interval '1 day') at time zone 'UTC' from today)
     group by 1
   )
   select to_char(d.day, 'YYYY-MM-DD') as date, round(coalesce(u.requests, 0))::text as request_count,
     coalesce(u.estimated, false) as estimated
   from today
     cross join generate_series(today.day - ($3::int - 1) * interval '1 day', today.day, interval '1 day') d(day)
     left join used u on u.day = d.day
   order by d.day`,
)
/** Every UTC day of the span, today last. */
export function listDays(tx: ReadTx, keyId: string, count: number) {
  tx.send(keepPlans)
  return tx.query<DayRow>(days, [tx.workspaceId, keyId, count])
}

export interface DailyFilter {
  envs: readonly string[]
  projectId: string | null
  tenantId: string | null
  days: number
}
/** `which`: the rows whose sum is the figure; an id that stands for all tenants belongs to no tenant. */
const daily = (name: string, which: string) =>
  sql(
    name,
    `with today as materialized (select (service_now() at time zone 'UTC')::date as day),
   used as (
     select u.day, sum(u.requests) as requests, bool_or(u.estimated) as estimated from usage_days u
     where u.workspace_id = $1 and u.env = any($2::text[]) and ${which}
       and u.day between (select day - ($3::int - 1) from today) and (select day from today)
     group by u.day
   )
   select to_char(d.day, 'YYYY-MM-DD') as date, round(coalesce(u.requests, 0))::text as request_count,
     coalesce(u.estimated, false) as estimated
   from today cross join generate_series(0, $3::int - 1) back
     cross join lateral (select today.day - back as day) d left join used u on u.day = d.day
   order by d.day`,
  )
const ofTenant = `u.tenant_id = $4 and u.tenant_id <> ${all}`
const dailyOf = {
  workspace: daily('usage.daily', `u.tenant_id = ${all} and u.project_id = ${all}`),
  project: daily(
    'usage.daily.project',
    `u.tenant_id = ${all} and u.project_id = $4 and u.project_id <> ${all}`,
  ),
  tenant: daily('usage.daily.tenant', ofTenant),
  both: daily('usage.daily.both', `${ofTenant} and u.project_id = $5`),
}
/** Every UTC day of the span, today last. */
export function listDaily(tx: ReadTx, { envs, projectId, tenantId, days }: DailyFilter): Promise<DayRow[]> {
  const span = [tx.workspaceId, envs, days]
  tx.send(keepPlans)
  if (tenantId !== null && projectId !== null) return tx.query(dailyOf.both, [...span, tenantId, projectId])
  if (tenantId !== null) return tx.query(dailyOf.tenant, [...span, tenantId])
  if (projectId !== null) return tx.query(dailyOf.project, [...span, projectId])
  return tx.query(dailyOf.workspace, span)
}

const thisMonth = `date_trunc('month', service_now() at time zone 'UTC')`
/** The first days of the first and of the last month of a span. */
const span = (months: string, last = thisMonth) =>
  `span as materialized (
     select (this - (${months} - 1) * interval '1 month')::date as first, this::date as last
     from (select ${last} as this) now
   )`

export interface BillingRow {
  month: string
  billable_tenants: number
}
/**
 * Counts tenants first and adds the empty months afterwards: with the join first, Postgres would read the months of all
 * workspaces.
 */
const billing = sql(
  'usage.billing',
  `with ${span('$2::int')},
   used as (
     select u.month, count(distinct u.tenant_id) as tenants from usage_months u
     where u.workspace_id = $1 and u.env = 'live'
       and u.month between (select first from span) and (select last from span)
     group by u.month
   )
   select to_char(m.month, 'YYYY-MM-DD') as month, coalesce(u.tenants, 0) as billable_tenants
   from span cross join generate_series(span.first::timestamp, span.last::timestamp, interval '1 month') m(month)
     left join used u on u.month = m.month::date
   order by m.month`,
)
/** Every month of the span, this month last. */
export const listBilling = (tx: ReadTx, months: number) =>
  tx.query<BillingRow>(billing, [tx.workspaceId, months])

export interface TenantMonthRow {
  month: string
  tenant_id: string
  project_id: string
  env: 'live' | 'test'
  request_count: string
  estimated: boolean
}
/** The last row of a page of tenants' months. */
export type TenantMonthPlace = Pick<TenantMonthRow, 'month' | 'tenant_id' | 'project_id' | 'env'>

const tenantMonths = sql(
  'usage.tenants',
  `with ${span('$2::int', `coalesce($9::date::timestamp, ${thisMonth})`)}
   select to_char(u.month, 'YYYY-MM-DD') as month, u.tenant_id, u.project_id, u.env, round(u.requests)::text as request_count,
     u.estimated
   from usage_months u
   where u.workspace_id = $1 and u.month between (select first from span) and (select last from span)
     and u.env = any($3::text[]) and (u.month, u.tenant_id, u.project_id, u.env) < ($4::date, $5::uuid, $6::uuid, $7::text)
   order by u.month desc, u.tenant_id desc, u.project_id desc, u.env desc limit $8`,
)
const beyondAll: TenantMonthPlace = {
  month: 'infinity',
  tenant_id: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  project_id: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  env: 'test',
}
export interface TenantMonthFilter {
  /** The last month of the span, by its first day; null: this month. */
  month: string | null
  months: number
  envs: readonly string[]
  limit: number
}
/** The latest month first. Returns one row more than the limit, if there is one. */
export function listTenantMonths(
  tx: ReadTx,
  { month, months, envs, limit }: TenantMonthFilter,
  before: TenantMonthPlace = beyondAll,
) {
  const place = [before.month, before.tenant_id, before.project_id, before.env]
  const values = [tx.workspaceId, months, envs, ...place, limit + 1, month]
  return tx.list<TenantMonthRow>(tenantMonths, values, { most: limit + 1 })
}

/** Deletes `$1` rows that are too old, the oldest first. Rows that another transaction has locked are skipped. */
const removing = (table: string, key: string, isOver: string, by: string) =>
  `delete from ${table} where (workspace_id, ${key}) in (
     select workspace_id, ${key} from ${table} where ${isOver} order by ${by} limit $1 for update skip locked)`

export const removeReports = sql(
  'usage.prune_reports',
  removing('usage_reports', 'env, report_id', 'expires_at <= service_now()', 'expires_at'),
)

/** In UTC, whatever the session's time zone is. */
const monthsAgo25 = `(service_now() at time zone 'UTC' - interval '25 months')`
export const removeHours = sql(
  'usage.prune_hours',
  removing('usage_hours', 'key_id, hour', `hour < ${monthsAgo25} at time zone 'UTC'`, 'hour'),
)
export const removeMonths = sql(
  'usage.prune_months',
  removing(
    'usage_months',
    'month, tenant_id, project_id, env',
    `month + 0 < date_trunc('month', ${monthsAgo25})`,
    'month + 0',
  ),
)
/** After 91 days, in UTC: the figures show 90 days. `usage_hours` still has them. */
export const removeDays = sql(
  'usage.prune_days',
  removing(
    'usage_days',
    'env, tenant_id, project_id, day',
    `day + 0 < (service_now() at time zone 'UTC')::date - 91`,
    'day + 0',
  ),
)
/** After 91 days, as days of usage. */
const removingReasons = (name: string, table: string) =>
  sql(
    name,
    removing(
      table,
      'env, day, project_id, reason',
      `day + 0 < (service_now() at time zone 'UTC')::date - 91`,
      'day + 0',
    ),
  )
export const removeRefusals = removingReasons('usage.prune_refusals', 'refusal_days')
export const removeShadow = removingReasons('usage.prune_shadow', 'shadow_days')
