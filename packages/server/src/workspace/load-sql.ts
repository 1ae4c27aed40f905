import { sql } from '../platform/db/connection.ts'

/**
 * Adds counts to the present hour, except of workspaces that were removed meanwhile. Rows are locked in the order of their
 * workspaces, so that processes that write at the same time do not wait for each other in a circle.
 */
export const addLoads = sql(
  'workspace_loads.add',
  `insert into workspace_loads as l (workspace_id, hour, requests, connection_ms)
   select workspace_id, date_trunc('hour', service_now(), 'UTC'), sum(requests), sum(connection_ms)
   from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as counted(workspace_id, requests, connection_ms)
   where exists (select from workspaces w where w.id = workspace_id)
   group by workspace_id order by workspace_id
   on conflict (workspace_id, hour) do update
     set requests = l.requests + excluded.requests, connection_ms = l.connection_ms + excluded.connection_ms`,
)

/** Deletes `$1` hours that no figure shows any more. Rows that another transaction has locked are skipped. */
export const removeLoads = sql(
  'workspace_loads.prune',
  `delete from workspace_loads where (workspace_id, hour) in (
     select workspace_id, hour from workspace_loads where hour < service_now() - interval '48 hours'
     order by hour limit $1 for update skip locked)`,
)
