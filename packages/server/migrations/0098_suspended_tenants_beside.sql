-- expand, outside a transaction
alter table tenants validate constraint tenants_suspended;
-- Few tenants are suspended, so both indexes are small. A deleted tenant has no key left to refuse.
create index concurrently if not exists tenants_suspended_now on tenants (workspace_id, id)
  where suspended_at is not null and deleted_at is null;
create index concurrently if not exists policy_tenants_by_suspension
  on policy_tenants (workspace_id, project_id, suspended_version) where suspended_version is not null;
