import type { Sight } from '../gate/principal.ts'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

export const beginReports = sql('usage.begin', 'begin')
export const commitReports = sql('usage.commit', 'commit')
export const rollbackReports = sql('usage.rollback', 'rollback')

/**
 * Takes reports, each given once: notes those that are new, and adds their counts to the hour of the key and to the month
 * of its tenant. Rows are written report by report, hours by key, months by tenant, and so locked by every process in one
 * order; keys, which a mutation may hold, are waited for by nobody. A count is divided as a decimal number, to 16 digits:
 * no number of reports adds up to one request more or less.
 */
export const takeReports = sql(
  'usage.take',
  `with clock as materialized (select service_now() as now),
   said as materialized (
     select u.w, u.e, u.r, c.id, c.count / u.rate as requests, k.env, k.tenant_id, k.project_id, t.hour, clock.now,
       k.id is not null and (u.e = 'live' or k.env = 'test')
         and (u.projects is null or k.project_id = any(u.projects::uuid[]))
         and t.hour between clock.now - interval '7 days' and clock.now + interval '5 minutes' as counts
     from clock cross join unnest($1::uuid[], $2::text[], $3::uuid[], $4::numeric[], $5::text[], $6::text[], $7::text[], $8::text[])
         u(w, e, r, rate, ids, hours, counted, projects)
       cross join lateral unnest(u.ids::uuid[], u.hours::bigint[], u.counted::int[]) c(id, hour, count)
       cross join lateral (select to_timestamp(c.hour * 3600) as hour) t
       left join api_keys k on k.workspace_id = u.w and k.id = c.id
   ),
   noted as (
     insert into usage_reports (workspace_id, env, report_id, accepted, ignored, expires_at)
     select w, e, r, count(*) filter (where counts), count(*) filter (where not counts), max(now) + interval '14 days'
     from said group by w, e, r order by w, e, r
     on conflict (workspace_id, env, report_id) do nothing
     returning workspace_id, env, report_id
   ),
   taken as materialized (
     select w, id, env, tenant_id, project_id, hour, sum(requests) as requests, max(now) as now from said
     where counts and ((w, e, r) in (select workspace_id, env, report_id from noted)) is true
     group by w, id, env, tenant_id, project_id, hour
   ),
   hours as (
     insert into usage_hours as h (workspace_id, key_id, hour, requests)
     select w, id, hour, requests from taken order by w, id, hour
     on conflict (workspace_id, key_id, hour) do update set requests = h.requests + excluded.requests
     returning 1
   ),
   months as (
     insert into usage_months as m (workspace_id, month, tenant_id, project_id, env, requests)
     select w, date_trunc('month', hour at time zone 'UTC')::date as month, tenant_id, project_id, env, sum(requests)
     from taken where (select count(*) from hours) > 0
     group by w, month, tenant_id, project_id, env order by w, month, tenant_id, project_id, env
     on conflict (workspace_id, month, tenant_id, project_id, env) do update set requests = m.requests + excluded.requests
     returning 1
   ),
   used as materialized (
     select w, id, least(max(hour) + interval '1 hour', max(now)) as at from taken group by w, id
   ),
   stale as materialized (
     select u.w, u.id, u.at from used u join api_keys k on k.workspace_id = u.w and k.id = u.id
       and (k.last_used_at is null or k.last_used_at < u.at - interval '60 seconds')
     for no key update of k skip locked
   ),
   touched as (
     update api_keys k set last_used_at = s.at from stale s where k.workspace_id = s.w and k.id = s.id
   )
   select count(*) from months`,
)

/** What came of reports, whoever has taken them. A statement of its own, for it must see what another process has just written. */
export const readReports = sql(
  'usage.read_reports',
  `select u.place, r.accepted, r.ignored
   from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality u(w, e, r, place)
   join usage_reports r on r.workspace_id = u.w and r.env = u.e and r.report_id = u.r`,
)

const find = sql(
  'usage.find_key',
  `select id from api_keys where workspace_id = $1 and id = $2 and env = any($3::text[])
     and ($4::uuid[] is null or project_id = any($4))`,
)
export const keyIsThere = async (tx: Tx, keyId: string, { envs, projectIds }: Sight): Promise<boolean> =>
  (await tx.query(find, [tx.workspaceId, keyId, envs, projectIds])).length === 1

/** Counts travel as text: a sum may have more digits than a bigint. */
export interface DayRow {
  date: string
  request_count: string
}
const days = sql(
  'usage.days',
  `with today as materialized (select date_trunc('day', service_now() at time zone 'UTC') as day),
   used as (
     select date_trunc('day', h.hour at time zone 'UTC') as day, sum(h.requests) as requests
     from usage_hours h
     where h.workspace_id = $1 and h.key_id = $2
       and h.hour >= (select (day - ($3::int - 1) * interval '1 day') at time zone 'UTC' from today)
       and h.hour < (select (day + interval '1 day') at time zone 'UTC' from today)
     group by 1
   )
   select to_char(d.day, 'YYYY-MM-DD') as date, round(coalesce(u.requests, 0))::text as request_count
   from today
     cross join generate_series(today.day - ($3::int - 1) * interval '1 day', today.day, interval '1 day') d(day)
     left join used u on u.day = d.day
   order by d.day`,
)
/** Every UTC day of the span, today last. */
export const listDays = (tx: Tx, keyId: string, count: number) =>
  tx.query<DayRow>(days, [tx.workspaceId, keyId, count])

/** The first day of this month, and of the one with which a span of `months` begins. */
const span = (months: string) =>
  `span as materialized (
     select (this - (${months} - 1) * interval '1 month')::date as first, this::date as last
     from (select date_trunc('month', service_now() at time zone 'UTC') as this) now
   )`

export interface BillingRow {
  month: string
  billable_tenants: number
}
/** Counted before the empty months are put beside: joined first, Postgres would read the months of all workspaces. */
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
export const listBilling = (tx: Tx, months: number) => tx.query<BillingRow>(billing, [tx.workspaceId, months])

export interface TenantMonthRow {
  month: string
  tenant_id: string
  project_id: string
  env: 'live' | 'test'
  request_count: string
}
/** Where a page of tenants' months ended. */
export type TenantMonthPlace = Pick<TenantMonthRow, 'month' | 'tenant_id' | 'project_id' | 'env'>

const tenantMonths = sql(
  'usage.tenants',
  `with ${span('$2::int')}
   select to_char(u.month, 'YYYY-MM-DD') as month, u.tenant_id, u.project_id, u.env, round(u.requests)::text as request_count
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
/** This month first, one more than the limit. */
export function listTenantMonths(
  tx: Tx,
  { months, envs, limit }: { months: number; envs: readonly string[]; limit: number },
  before: TenantMonthPlace = beyondAll,
) {
  const place = [before.month, before.tenant_id, before.project_id, before.env]
  return tx.query<TenantMonthRow>(tenantMonths, [tx.workspaceId, months, envs, ...place, limit + 1])
}

const pruned = (table: string, key: string, isOver: string, by: string) =>
  `delete from ${table} where (workspace_id, ${key}) in (
     select workspace_id, ${key} from ${table} where ${isOver} order by ${by} limit $1 for update skip locked)`

export const removeReports = sql(
  'usage.prune_reports',
  pruned('usage_reports', 'env, report_id', 'expires_at <= service_now()', 'expires_at'),
)

/** The calendar is that of UTC, whatever the session's is. */
const monthsAgo25 = `(service_now() at time zone 'UTC' - interval '25 months')`
export const removeHours = sql(
  'usage.prune_hours',
  pruned('usage_hours', 'key_id, hour', `hour < ${monthsAgo25} at time zone 'UTC'`, 'hour'),
)
export const removeMonths = sql(
  'usage.prune_months',
  pruned(
    'usage_months',
    'month, tenant_id, project_id, env',
    `month + 0 < date_trunc('month', ${monthsAgo25})`,
    'month + 0',
  ),
)
