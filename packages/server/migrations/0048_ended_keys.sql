-- expand, outside a transaction
-- Upkeep finds the keys that ended longest ago. Keys that have no end are not in the indexes.
create index concurrently if not exists api_keys_by_end on api_keys (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;
create index concurrently if not exists secret_keys_by_end on secret_keys (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;
