-- Usage by day, written in the same transaction as the hours and months: for the whole workspace, for each project, and
-- for each tenant in each project. So the figures of a day are one row, however many keys there are.
create table usage_days (
  workspace_id uuid not null,
  env text not null constraint usage_days_env check (env in ('live', 'test')),
  -- ffffffff-ffff-ffff-ffff-ffffffffffff: all of them, which is last in the order in which rows are locked. Every report
  -- of the workspace waits for that row.
  tenant_id uuid not null,
  project_id uuid not null,
  -- In UTC.
  day date not null,
  requests numeric not null constraint usage_days_requests_bounds check (requests > 0),
  primary key (workspace_id, env, tenant_id, project_id, day)
) with (fillfactor = 70);
-- To prune by. An expression, as for months.
create index usage_days_by_day on usage_days ((day + 0));

alter table usage_days enable row level security;
create policy usage_days_scope on usage_days to keyrail_app using (workspace_id = app_workspace_id());
grant select on usage_days to keyrail_app;

insert into usage_days (workspace_id, env, tenant_id, project_id, day, requests)
select h.workspace_id, k.env, coalesce(k.tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
  coalesce(k.project_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), d.day, sum(h.requests)
from usage_hours h
  join api_keys k on k.workspace_id = h.workspace_id and k.id = h.key_id
  cross join lateral (select (h.hour at time zone 'UTC')::date as day) d
where h.hour >= service_now() - interval '91 days'
group by grouping sets ((h.workspace_id, k.env, d.day), (h.workspace_id, k.env, k.project_id, d.day),
  (h.workspace_id, k.env, k.tenant_id, k.project_id, d.day));
