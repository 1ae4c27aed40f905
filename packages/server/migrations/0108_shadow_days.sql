-- expand
-- Requests that a vendor's servers judged beside an old check, by UTC day and word: `agreed`, `accepted`, or why the keyring would
-- refuse. Apart from `refusal_days`, of which a process of the release before reads every row as refused requests.
create table shadow_days (
  workspace_id uuid not null,
  env text not null constraint shadow_days_env check (env in ('live', 'test')),
  day date not null,
  project_id uuid not null,
  -- A word of the contract, which may get more of them.
  reason text not null constraint shadow_days_reason check (reason ~ '^[a-z][a-z_]{0,31}$'),
  requests numeric not null constraint shadow_days_requests_bounds check (requests > 0),
  primary key (workspace_id, env, day, project_id, reason)
) with (fillfactor = 70);
-- To prune by. An expression, so that no query for figures uses it, as for refusals.
create index shadow_days_by_day on shadow_days ((day + 0));

alter table shadow_days enable row level security;
create policy shadow_days_scope on shadow_days to keyrail_app using (workspace_id = app_workspace_id());
grant select on shadow_days to keyrail_app;
