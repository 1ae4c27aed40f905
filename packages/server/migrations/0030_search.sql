-- Searches by prefix, and lists of keys by status, in the order of an index. Each text is folded into a stored column:
-- row-level security lets an index compare a column with a value, but not the result of `lower`, which Postgres does not
-- consider leak-proof. 64 characters are what a search compares; in the collation C they fold and sort the same everywhere.

-- Postgres rewrites `(revoked_at is null) = false` before it looks for an index, and then finds none on that expression:
-- hence a column.
alter table api_keys
  add column is_revoked boolean generated always as (revoked_at is not null) stored,
  add column name_folded text collate "C" generated always as (lower(left(name, 64) collate "C")) stored,
  add column display_prefix_folded text collate "C"
    generated always as (lower(left(display_prefix, 64) collate "C")) stored;
create index api_keys_by_name_folded on api_keys (workspace_id, env, is_revoked, name_folded, id)
  where name_folded is not null;
create index api_keys_by_display_prefix_folded
  on api_keys (workspace_id, env, is_revoked, display_prefix_folded, id);
create index api_keys_by_revocation on api_keys (workspace_id, env, is_revoked, id);
create index api_keys_by_expiry on api_keys (workspace_id, env, expires_at, id)
  where revoked_at is null and expires_at is not null;
-- Finds a key by itself. Uniqueness across workspaces is that of `credentials`.
create unique index api_keys_lookup_hash_unique on api_keys (workspace_id, lookup_hash);

alter table tenants
  add column name_folded text collate "C" generated always as (lower(left(name, 64) collate "C")) stored,
  add column external_id_folded text collate "C"
    generated always as (lower(left(external_id, 64) collate "C")) stored;
create index tenants_by_name_folded on tenants (workspace_id, name_folded, id)
  where deleted_at is null and name_folded is not null;
create index tenants_by_external_id_folded on tenants (workspace_id, external_id_folded, id) where deleted_at is null;

alter table projects
  add column name_folded text collate "C" generated always as (lower(left(name, 64) collate "C")) stored;
create index projects_by_name_folded on projects (workspace_id, name_folded, id) where deleted_at is null;
