-- expand, outside a transaction
alter table api_keys validate constraint api_keys_checked;
alter table tenants validate constraint tenants_allowed_cidrs_bounds;
-- Few tenants have networks, so both indexes are small. A deleted tenant has no key left to judge.
create index concurrently if not exists tenants_with_networks on tenants (workspace_id, id)
  where allowed_cidrs <> '{}' and deleted_at is null;
create index concurrently if not exists policy_tenants_by_networks
  on policy_tenants (workspace_id, project_id, networks_version) where networks_version is not null;
