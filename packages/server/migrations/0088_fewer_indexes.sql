-- expand, outside a transaction
-- One index by project and one by tenant in place of two each: those that are not revoked, in the order of their ids, and the rest.
create index concurrently if not exists api_keys_in_project on api_keys (workspace_id, project_id, is_revoked, id);
create index concurrently if not exists api_keys_of_tenant on api_keys (workspace_id, tenant_id, is_revoked, id);
-- With the keys without an end, which come last, in place of an index of their own.
create index concurrently if not exists api_keys_unrevoked_by_expiry on api_keys (workspace_id, env, expires_at, id)
  where revoked_at is null;

drop index concurrently if exists api_keys_active_by_project;
drop index concurrently if exists api_keys_by_project;
drop index concurrently if exists api_keys_active_by_tenant;
drop index concurrently if exists api_keys_by_tenant;
drop index concurrently if exists api_keys_by_expiry;
drop index concurrently if exists api_keys_endless;
-- Names are found by their folded form.
drop index concurrently if exists api_keys_by_name;
-- 0076 has what upkeep reads.
drop index concurrently if exists api_keys_by_end;
drop index concurrently if exists secret_keys_by_end;
