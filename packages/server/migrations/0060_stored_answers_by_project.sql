-- expand
-- Bytes of stored answers, as in idempotency_stored, by environment and project: what a credential of test or of one
-- project stores takes no room of another. The project is zeros for a credential that is not bound to one. An older
-- process goes on counting in idempotency_stored, whose rows end within a week.
create table idempotency_held (
  workspace_id uuid not null,
  env text not null constraint idempotency_held_env check (env in ('live', 'test')),
  project_id uuid not null,
  ends_at timestamptz(3) not null,
  bytes bigint not null constraint idempotency_held_bytes_bounds check (bytes >= 0),
  primary key (workspace_id, env, project_id, ends_at)
);
create index idempotency_held_by_end on idempotency_held (ends_at);
alter table idempotency_held enable row level security;
create policy idempotency_held_scope on idempotency_held to keyrail_app
  using (workspace_id = app_workspace_id());
