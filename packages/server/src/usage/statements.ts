import { sql } from '../platform/db/connection.ts'

/** The statements that take reports. `sql.ts` has the statements of the figures. */

/** The statement's one reading of the clock: each mention of the function would read it again. */
export const clock = 'clock as materialized (select service_now() as now)'

/** An hour that is counted. */
export const isRecent = `t.hour between clock.now - interval '7 days' and clock.now + interval '5 minutes'`

/**
 * The records of all reports, one row each: how many requests the record stands for, and whether it counts. A count divided by
 * the sample rate is a decimal number of 16 digits, so that a sum of many reports is exact to one request.
 *
 * A record counts if the credential may report its key, and its hour is recent: a test credential reports only test keys, and a
 * credential that is limited to projects only their keys.
 */
const records = `
  records as materialized (
    select r.workspace_id, r.env as report_env, r.report_id, c.key_id, c.count / r.rate as requests,
      r.rate < 1 as is_sampled,
      k.env, k.tenant_id, k.project_id, t.hour, clock.now,
      k.id is not null and (r.env = 'live' or k.env = 'test')
        and (r.project_ids is null or k.project_id = any(r.project_ids::uuid[]))
        and ${isRecent} as is_counted
    from clock cross join
      unnest($1::uuid[], $2::text[], $3::uuid[], $4::numeric[], $5::text[], $6::text[], $7::text[], $8::text[])
        r(workspace_id, env, report_id, rate, key_ids, hours, counts, project_ids)
      cross join lateral unnest(r.key_ids::uuid[], r.hours::bigint[], r.counts::int[]) c(key_id, hour, count)
      cross join lateral (select to_timestamp(c.hour * 3600) as hour) t
      left join api_keys k on k.workspace_id = r.workspace_id and k.id = c.key_id
  )`

/** Notes the new reports. A report that was noted before is not returned, and is not counted again. */
export const noted = `
  noted as (
    insert into usage_reports (workspace_id, env, report_id, accepted, ignored, expires_at)
    select workspace_id, report_env, report_id,
      count(*) filter (where is_counted), count(*) filter (where not is_counted), max(now) + interval '14 days'
    from records
    group by workspace_id, report_env, report_id order by workspace_id, report_env, report_id
    on conflict (workspace_id, env, report_id) do nothing
    returning workspace_id, env, report_id
  )`

/**
 * What the new reports add, by key and hour. `is true` makes Postgres look reports up in a hash table. A join would compare
 * each record with each report, since lanes switch hash joins off.
 */
const added = `
  added as materialized (
    select workspace_id, key_id, env, tenant_id, project_id, hour, sum(requests) as requests,
      bool_or(is_sampled) as estimated, max(now) as now
    from records
    where is_counted and ((workspace_id, report_env, report_id) in (select workspace_id, env, report_id from noted)) is true
    group by workspace_id, key_id, env, tenant_id, project_id, hour
  )`

const hours = `
  hours as (
    insert into usage_hours as h (workspace_id, key_id, hour, requests, estimated)
    select workspace_id, key_id, hour, requests, estimated from added order by workspace_id, key_id, hour
    on conflict (workspace_id, key_id, hour) do update set requests = h.requests + excluded.requests,
      estimated = h.estimated or excluded.estimated
    returning 1
  )`

/** Counting `hours` first makes Postgres write all hours before any month. */
const months = `
  months as (
    insert into usage_months as m (workspace_id, month, tenant_id, project_id, env, requests, estimated)
    select workspace_id, date_trunc('month', hour at time zone 'UTC')::date as month, tenant_id, project_id, env,
      sum(requests), bool_or(estimated)
    from added where (select count(*) from hours) > 0
    group by workspace_id, month, tenant_id, project_id, env order by workspace_id, month, tenant_id, project_id, env
    on conflict (workspace_id, month, tenant_id, project_id, env) do update set requests = m.requests + excluded.requests,
      estimated = m.estimated or excluded.estimated
    returning 1
  )`

/** Stands in place of an id for all tenants, or all projects. It sorts after every id. */
export const all = `'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`

/**
 * The days of the workspace, of its projects, and of the tenants in each. The day of the workspace, for which every report
 * waits, comes last. Counting `months` first makes Postgres write all months before any day.
 */
const dailySums = `
  days as (
    insert into usage_days as d (workspace_id, env, tenant_id, project_id, day, requests, estimated)
    select workspace_id, env, coalesce(tenant_id, ${all}) as tenant, coalesce(project_id, ${all}) as project, day,
      sum(requests), bool_or(estimated)
    from (select *, (hour at time zone 'UTC')::date as day from added) added
    where (select count(*) from months) > 0
    group by grouping sets ((workspace_id, env, day), (workspace_id, env, project_id, day),
      (workspace_id, env, tenant_id, project_id, day))
    order by workspace_id, env, tenant, project, day
    on conflict (workspace_id, env, tenant_id, project_id, day) do update set requests = d.requests + excluded.requests,
      estimated = d.estimated or excluded.estimated
    returning 1
  )`

/**
 * Notes when keys were last used, to the minute, and every 7 days in the column that has an index. A key that a mutation has
 * locked is skipped: the next report of the key notes it.
 */
const touched = `
  used as materialized (
    select workspace_id, key_id, least(max(hour) + interval '1 hour', max(now)) as used_at
    from added group by workspace_id, key_id
  ),
  stale as materialized (
    select u.workspace_id, u.key_id, u.used_at
    from used u join api_keys k on k.workspace_id = u.workspace_id and k.id = u.key_id
      and (k.last_used_at is null or k.last_used_at < u.used_at - interval '60 seconds')
    for no key update of k skip locked
  ),
  touched as (
    update api_keys k set last_used_at = s.used_at,
      idle_since = case when k.idle_since < s.used_at - interval '7 days' then s.used_at else k.idle_since end
    from stale s where k.workspace_id = s.workspace_id and k.id = s.key_id
  )`

/** How long later statements of the transaction wait for a lock, in ms. */
export const waitForLocks = sql('usage.wait_for_locks', `select set_config('lock_timeout', $1, true)`)

/**
 * Takes reports, no two with the same id: adds the counts of the new reports to the hours of keys and to the months and days of
 * tenants. Every process writes, and so locks, rows in one order, so that no two wait for each other in a circle: reports by
 * id, hours by key, months and then days by tenant.
 */
export const takeReports = sql(
  'usage.take',
  `with ${[clock, records, noted, added, hours, months, dailySums, touched].join(',')}
   select count(*) from days`,
)

/**
 * The result of each report, no matter which process took it. A second statement, because the first cannot see what another
 * process has written while it ran.
 */
export const readReports = sql(
  'usage.read_reports',
  `select a.place, r.accepted, r.ignored
   from unnest($1::uuid[], $2::text[], $3::uuid[]) with ordinality a(workspace_id, env, report_id, place)
   join usage_reports r on r.workspace_id = a.workspace_id and r.env = a.env and r.report_id = a.report_id`,
)
