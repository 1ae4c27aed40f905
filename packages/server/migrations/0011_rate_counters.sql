-- Counters of the rate-limit check. All counters of one subject, which is a key or a tenant of one project and
-- environment, are in one row: a check of eight limits costs hardly more than a check of one. The ids come from the
-- caller and are not looked up, so there are no foreign keys; the workspace is that of the caller's credential.
create table rate_counters (
  workspace_id uuid not null,
  project_id uuid not null,
  env text not null constraint rate_counters_env check (env in ('live', 'test')),
  kind text not null constraint rate_counters_kind check (kind in ('key', 'tenant', 'no_key', 'no_tenant')),
  subject_id uuid not null,
  -- [[rule id, algorithm, window_ms, start of the window in ms since 1970, spent in the previous window, spent in it], …]
  -- As text: every check writes it, and Postgres would parse jsonb each time.
  cells text not null constraint rate_counters_cells check (cells like '[%]' and octet_length(cells) <= 65536),
  -- When nothing in it counts any more.
  expires_at timestamptz(3) not null,
  primary key (workspace_id, project_id, env, kind, subject_id)
) with (fillfactor = 50);
create index rate_counters_by_expiry on rate_counters (expires_at);

alter table rate_counters enable row level security;
create policy rate_counters_scope on rate_counters to keyrail_app using (workspace_id = app_workspace_id());
