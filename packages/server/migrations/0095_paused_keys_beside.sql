-- expand, outside a transaction
alter table api_keys validate constraint api_keys_row_checked;
-- The list of paused keys. Few keys are paused, so the index is small. A key that is revoked while it is paused leaves it.
create index concurrently if not exists api_keys_paused on api_keys (workspace_id, env, id)
  where disabled_at is not null and not is_revoked;
