-- Requests of a vendor's customers that must not run twice: who executes one, and its answer. The caller computes the
-- scope, a hash that is not looked up; the workspace is that of the caller's credential. Like the nodes of a fleet,
-- these rows have no foreign keys: one would lock the workspace's row on every claim.

create table idempotency_claims (
  workspace_id uuid not null,
  env text not null constraint idempotency_claims_env check (env in ('live', 'test')),
  scope_hash bytea not null
    constraint idempotency_claims_scope_hash_length check (octet_length(scope_hash) = 32),
  fingerprint bytea not null
    constraint idempotency_claims_fingerprint_length check (octet_length(fingerprint) = 32),
  -- The holder with this token may complete, release or extend the claim. A holder that takes over gets another one.
  lock_token text not null
    constraint idempotency_claims_lock_token_bounds check (char_length(lock_token) between 8 and 64),
  claimed_at timestamptz(3) not null,
  locked_until timestamptz(3) not null,
  ttl_ms int not null constraint idempotency_claims_ttl_bounds check (ttl_ms between 60000 and 604800000),
  expires_at timestamptz(3) not null,
  -- Null while the request runs.
  status smallint constraint idempotency_claims_status_bounds check (status between 100 and 599),
  -- Headers and body of the answer in idempotency_bodies; null without a stored answer.
  answer_bytes int constraint idempotency_claims_answer_bytes_bounds check (answer_bytes >= 0),
  -- The full hour after its expiry, by which it is pruned. Completing a claim moves the expiry by seconds and this value
  -- seldom, so that the index mostly stays unchanged.
  kept_until timestamptz(3) not null
    constraint idempotency_claims_kept_until check (kept_until >= expires_at),
  primary key (workspace_id, env, scope_hash),
  constraint idempotency_claims_answered check (answer_bytes is null or status is not null)
) with (fillfactor = 50);
create index idempotency_claims_by_expiry on idempotency_claims (kept_until);

-- Apart from the claims, which stay small. A body belongs to the claim with the same lock_token; a body left behind by
-- an earlier claim belongs to none, until it is overwritten or expires.
create table idempotency_bodies (
  workspace_id uuid not null,
  env text not null constraint idempotency_bodies_env check (env in ('live', 'test')),
  scope_hash bytea not null
    constraint idempotency_bodies_scope_hash_length check (octet_length(scope_hash) = 32),
  lock_token text not null
    constraint idempotency_bodies_lock_token_bounds check (char_length(lock_token) between 8 and 64),
  headers json not null
    constraint idempotency_bodies_headers_bounds
    check (json_typeof(headers) = 'object' and octet_length(headers::text) <= 8388608),
  body bytea not null constraint idempotency_bodies_body_bounds check (octet_length(body) <= 4718592),
  expires_at timestamptz(3) not null,
  primary key (workspace_id, env, scope_hash)
);
-- Answers are compressed already, or small.
alter table idempotency_bodies alter column body set storage external;
create index idempotency_bodies_by_expiry on idempotency_bodies (expires_at);

alter table idempotency_claims enable row level security;
create policy idempotency_claims_scope on idempotency_claims to keyrail_app
  using (workspace_id = app_workspace_id());
grant select, update on idempotency_claims to keyrail_app;

alter table idempotency_bodies enable row level security;
create policy idempotency_bodies_scope on idempotency_bodies to keyrail_app
  using (workspace_id = app_workspace_id());
grant select, insert, update on idempotency_bodies to keyrail_app;
