import { type RefusalReason, refusalReasons, shadowReasons } from '@keyrail/contract/usage'
import { type ShadowWord, shadowPrefix } from '@keyrail/contract/verdicts'
import { sql } from '../platform/db/connection.ts'
import { keepPlans } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { clock, isRecent, noted } from './statements.ts'

const listed = (words: readonly string[]): string => words.map(word => `'${word}'`).join(', ')

/**
 * The records of all reports, one row each, and whether the record counts: as a refusal, or of a keyring in shadow. Records of a missing
 * project have no row.
 */
const records = `
  records as materialized (
    select r.workspace_id, r.env as report_env, r.report_id, r.project_id, c.reason, c.count, clock.now,
      (t.hour at time zone 'UTC')::date as day,
      c.reason in (${listed(shadowReasons)}) as is_shadow,
      c.reason in (${listed([...refusalReasons, ...shadowReasons])}) and ${isRecent} as is_counted
    from clock cross join
      unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
        r(workspace_id, env, report_id, project_id, reasons, hours, counts)
      join projects p on p.workspace_id = r.workspace_id and p.id = r.project_id and p.deleted_at is null
      cross join lateral unnest(r.reasons::text[], r.hours::bigint[], r.counts::int[]) c(reason, hour, count)
      cross join lateral (select to_timestamp(c.hour * 3600) as hour) t
  )`

/** The records of the new reports that count. `is true` makes Postgres look reports up in a hash table, as for usage. */
const isNew = `is_counted
      and ((workspace_id, report_env, report_id) in (select workspace_id, env, report_id from noted)) is true`

const days = `
  days as (
    insert into refusal_days as d (workspace_id, env, day, project_id, reason, requests)
    select workspace_id, report_env, day, project_id, reason, sum(count)
    from records
    where not is_shadow and ${isNew}
    group by workspace_id, report_env, day, project_id, reason
    order by workspace_id, report_env, day, project_id, reason
    on conflict (workspace_id, env, day, project_id, reason) do update set requests = d.requests + excluded.requests
    returning 1
  )`

/**
 * Apart from refusals, since a process of the release before reads every row of those as a refused request. Counting `days` first makes
 * Postgres write all days before any of these.
 */
const shadowDays = `
  shadow_days_added as (
    insert into shadow_days as d (workspace_id, env, day, project_id, reason, requests)
    select workspace_id, report_env, day, project_id, substr(reason, ${shadowPrefix.length + 1}) as word, sum(count)
    from records
    where is_shadow and ${isNew} and (select count(*) from days) >= 0
    group by workspace_id, report_env, day, project_id, word
    order by workspace_id, report_env, day, project_id, word
    on conflict (workspace_id, env, day, project_id, reason) do update set requests = d.requests + excluded.requests
    returning 1
  )`

/**
 * Adds the counts of the new reports; no two reports may have the same id. Rows are locked in one order: reports by id, then
 * days, then days in shadow.
 */
export const takeRefusals = sql(
  'usage.take_refusals',
  `with ${[clock, records, noted, days, shadowDays].join(',')}
   select count(*) from shadow_days_added`,
)

const byReason = (name: string, table: 'refusal_days' | 'shadow_days') =>
  sql(
    name,
    `with today as materialized (select (service_now() at time zone 'UTC')::date as day)
   select r.reason, sum(r.requests)::text as count from ${table} r
   where r.workspace_id = $1 and r.env = any($2::text[])
     and r.day between (select day - ($3::int - 1) from today) and (select day from today)
     and ($4::uuid is null or r.project_id = $4)
   group by r.reason order by sum(r.requests) desc, r.reason`,
  )
const refusalsByReason = byReason('usage.refusals', 'refusal_days')
const shadowByReason = byReason('usage.shadow', 'shadow_days')
export interface RefusalFilter {
  readonly envs: readonly string[]
  readonly days: number
  readonly projectId: string | null
}
/** Counts come as text, because a sum may have more digits than a bigint. */
interface Counted<Reason> {
  reason: Reason
  count: string
}
/** What nodes refused, and what they counted in shadow, each with the largest first. */
export function listByReason(tx: ReadTx, { envs, days, projectId }: RefusalFilter) {
  tx.send(keepPlans)
  const values = [tx.workspaceId, envs, days, projectId]
  return Promise.all([
    tx.query<Counted<RefusalReason>>(refusalsByReason, values),
    tx.query<Counted<ShadowWord>>(shadowByReason, values),
  ])
}
