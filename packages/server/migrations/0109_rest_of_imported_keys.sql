-- expand, outside a transaction
-- A key that is imported long after its end comes first by its end and its making, and a round of upkeep goes through all such keys.
-- The release before still reads api_keys_by_rest.
create index concurrently if not exists api_keys_by_rest_here
  on api_keys (greatest(least(revoked_at, expires_at), created_at, revoked_at, imported_at))
  where revoked_at is not null or expires_at is not null;
