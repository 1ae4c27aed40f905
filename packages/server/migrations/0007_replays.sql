-- Answers of creates and rotates, for 24 hours, so that the same Idempotency-Key returns them again. Recorded in the
-- mutation's own transaction; a second request with the key waits here for the first.

create table replays (
  -- The nil UUID for a caller without a workspace (the creation of a workspace).
  workspace_id uuid not null,
  caller text not null,
  key text not null constraint replays_key_bounds check (char_length(key) between 1 and 255),
  fingerprint bytea not null constraint replays_fingerprint_length check (octet_length(fingerprint) = 32),
  status smallint,
  -- The answer without its secret.
  body json,
  created_at timestamptz(3) not null default service_now(),
  primary key (workspace_id, caller, key)
);
create index replays_by_age on replays (workspace_id, created_at);

alter table replays enable row level security;
create policy replays_scope on replays to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update, delete on replays to keyrail_app;
