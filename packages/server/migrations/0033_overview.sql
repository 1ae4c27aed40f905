-- What the overview counts, each by index. A key that is not revoked is in one of the first two.
create index if not exists api_keys_by_expiry on api_keys (workspace_id, env, expires_at, id)
  where revoked_at is null and expires_at is not null;
create index api_keys_endless on api_keys (workspace_id, env, id) where revoked_at is null and expires_at is null;

-- Not later than the last use, or the creation of a key without any, and at most 7 days before it. With an index on
-- last_used_at, which changes every minute while a key is used, each change would write to every index of the key.
alter table api_keys add column idle_since timestamptz(3) not null default service_now();
update api_keys set idle_since = coalesce(last_used_at, created_at);
create index api_keys_by_idleness on api_keys (workspace_id, env, idle_since, id) where revoked_at is null;
