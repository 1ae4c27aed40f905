/** What the operator reads across workspaces. No request reaches these statements. */

/** The `$2` workspaces with most of `$1`, a column of the table, in the current hour and the 24 before it. */
export const listLoads = `
  select w.id, w.slug, w.name, coalesce(l.requests, 0)::text as requests,
    coalesce(l.connection_ms, 0)::text as connection_ms
  from workspaces w left join (
    select workspace_id, sum(requests) as requests, sum(connection_ms) as connection_ms from workspace_loads
    where hour >= date_trunc('hour', service_now(), 'UTC') - interval '24 hours' group by workspace_id
  ) l on l.workspace_id = w.id
  order by case $1 when 'requests' then coalesce(l.requests, 0) else coalesce(l.connection_ms, 0) end desc, w.slug
  limit $2`

/** How many rows each workspace has in a table. The statement reads the whole table. */
export const countRows = (table: string) =>
  `select workspace_id as id, count(*)::text as rows from ${table} group by workspace_id`

export const readLabels = 'select id, slug, name from workspaces where id = any($1::uuid[])'
