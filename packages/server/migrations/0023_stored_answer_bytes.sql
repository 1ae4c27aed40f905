-- Bytes of stored answers by the hour in which they expire. A process adds its writes every ten seconds, so that no
-- request waits for such a row; a past hour no longer counts, so nothing is ever subtracted.
create table idempotency_stored (
  workspace_id uuid not null,
  ends_at timestamptz(3) not null,
  bytes bigint not null constraint idempotency_stored_bytes_bounds check (bytes >= 0),
  primary key (workspace_id, ends_at)
);
create index idempotency_stored_by_end on idempotency_stored (ends_at);
alter table idempotency_stored enable row level security;
create policy idempotency_stored_scope on idempotency_stored to keyrail_app
  using (workspace_id = app_workspace_id());
