import { type RefusalReason, refusalReasons } from '@keyrail/contract/usage'
import { sql } from '../platform/db/connection.ts'
import { keepPlans } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { clock, isRecent, noted } from './statements.ts'

/** The records of all reports, one row each, and whether the record counts. Records of a missing project have no row. */
const records = `
  records as materialized (
    select r.workspace_id, r.env as report_env, r.report_id, r.project_id, c.reason, c.count, clock.now,
      (t.hour at time zone 'UTC')::date as day,
      c.reason in (${refusalReasons.map(reason => `'${reason}'`).join(', ')}) and ${isRecent} as is_counted
    from clock cross join
      unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
        r(workspace_id, env, report_id, project_id, reasons, hours, counts)
      join projects p on p.workspace_id = r.workspace_id and p.id = r.project_id and p.deleted_at is null
      cross join lateral unnest(r.reasons::text[], r.hours::bigint[], r.counts::int[]) c(reason, hour, count)
      cross join lateral (select to_timestamp(c.hour * 3600) as hour) t
  )`

/** `is true` makes Postgres look reports up in a hash table, as for usage. */
const days = `
  days as (
    insert into refusal_days as d (workspace_id, env, day, project_id, reason, requests)
    select workspace_id, report_env, day, project_id, reason, sum(count)
    from records
    where is_counted and ((workspace_id, report_env, report_id) in (select workspace_id, env, report_id from noted)) is true
    group by workspace_id, report_env, day, project_id, reason
    order by workspace_id, report_env, day, project_id, reason
    on conflict (workspace_id, env, day, project_id, reason) do update set requests = d.requests + excluded.requests
    returning 1
  )`

/**
 * Adds the counts of the new reports; no two reports may have the same id. Rows are locked in one order: reports by id, then
 * days.
 */
export const takeRefusals = sql(
  'usage.take_refusals',
  `with ${[clock, records, noted, days].join(',')}
   select count(*) from days`,
)

const byReason = sql(
  'usage.refusals',
  `with today as materialized (select (service_now() at time zone 'UTC')::date as day)
   select r.reason, sum(r.requests)::text as count from refusal_days r
   where r.workspace_id = $1 and r.env = any($2::text[])
     and r.day between (select day - ($3::int - 1) from today) and (select day from today)
     and ($4::uuid is null or r.project_id = $4)
   group by r.reason order by sum(r.requests) desc, r.reason`,
)
export interface RefusalFilter {
  readonly envs: readonly string[]
  readonly days: number
  readonly projectId: string | null
}
/** The largest first. Counts come as text, because a sum may have more digits than a bigint. */
export function listRefusals(tx: ReadTx, { envs, days, projectId }: RefusalFilter) {
  tx.send(keepPlans)
  return tx.query<{ reason: RefusalReason; count: string }>(byReason, [tx.workspaceId, envs, days, projectId])
}
