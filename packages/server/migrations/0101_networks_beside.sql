-- expand, outside a transaction
alter table api_keys validate constraint api_keys_checked;
alter table tenants validate constraint tenants_allowed_cidrs_bounds;
-- Of few tenants nodes learn anything, so both indexes are small. A deleted tenant has no key left to judge. The first index has
-- suspensions too: Postgres joins no two partial indexes for nodes that know both.
create index concurrently if not exists tenants_told_to_nodes on tenants (workspace_id, id)
  where (suspended_at is not null or allowed_cidrs <> '{}') and deleted_at is null;
create index concurrently if not exists policy_tenants_by_networks
  on policy_tenants (workspace_id, project_id, networks_version) where networks_version is not null;
