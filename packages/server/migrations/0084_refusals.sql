-- expand
-- Requests that a vendor's servers refused, by UTC day and reason. Reports of many workspaces are written together, so the rows
-- have no foreign keys. A project has a row for each reason, day and environment, however many keys are refused.
create table refusal_days (
  workspace_id uuid not null,
  env text not null constraint refusal_days_env check (env in ('live', 'test')),
  day date not null,
  project_id uuid not null,
  -- A word of the contract, which may get more of them.
  reason text not null constraint refusal_days_reason check (reason ~ '^[a-z][a-z_]{0,31}$'),
  requests numeric not null constraint refusal_days_requests_bounds check (requests > 0),
  primary key (workspace_id, env, day, project_id, reason)
) with (fillfactor = 70);
-- To prune by. An expression, so that no query for figures uses it: a plan for any workspace would prefer a range of days of all
-- workspaces to the range of one.
create index refusal_days_by_day on refusal_days ((day + 0));

alter table refusal_days enable row level security;
create policy refusal_days_scope on refusal_days to keyrail_app using (workspace_id = app_workspace_id());
grant select on refusal_days to keyrail_app;
