-- expand, outside a transaction
-- Upkeep finds the ended keys to which nothing has happened for longest. By their end alone, keys that are made with an expiry in the
-- past come first, and a round goes through all of them. The release before still reads the old indexes.
create index concurrently if not exists api_keys_by_rest on api_keys (greatest(least(revoked_at, expires_at), created_at, revoked_at))
  where revoked_at is not null or expires_at is not null;
create index concurrently if not exists secret_keys_by_rest
  on secret_keys (greatest(least(revoked_at, expires_at), created_at, revoked_at))
  where revoked_at is not null or expires_at is not null;
