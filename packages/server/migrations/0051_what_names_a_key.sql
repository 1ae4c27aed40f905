-- expand, outside a transaction
-- Finds the changes of a key that is deleted, and lets Postgres see that none is left.
create index concurrently if not exists policy_changes_by_key on policy_changes (workspace_id, key_id);
-- The same for the credential of a secret key.
create index concurrently if not exists credentials_secret_keys on credentials (workspace_id, id) where kind = 'secret_key';
