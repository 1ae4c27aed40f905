-- For look-ups by name, and for the owner of a key.
-- The version of a project's policy at which a tenant last changed, for nodes that show the owner of a key. One row per
-- tenant and project, replaced by each change, so that a rename costs a row per project and not one per key.

create table policy_tenants (
  workspace_id uuid not null,
  project_id uuid not null,
  tenant_id uuid not null,
  version bigint not null,
  primary key (workspace_id, project_id, tenant_id),
  foreign key (workspace_id, project_id) references policy_heads (workspace_id, project_id),
  foreign key (workspace_id, tenant_id) references tenants (workspace_id, id)
);
create index policy_tenants_by_version on policy_tenants (workspace_id, project_id, version);

alter table policy_tenants enable row level security;
create policy policy_tenants_scope on policy_tenants to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on policy_tenants to keyrail_app;

-- Raises the version of every project in which a tenant has keys that are not revoked, and records the tenant at it.
-- Returns these projects. The caller holds the tenant's row, so that no key is added meanwhile; keys may end until
-- their heads are locked.
create function policy_tenant_changed(of_workspace uuid, of_tenant uuid) returns setof uuid
language plpgsql as $$
begin
  perform from policy_heads where workspace_id = of_workspace and project_id in (
      select project_id from api_keys
      where workspace_id = of_workspace and tenant_id = of_tenant and revoked_at is null)
    order by project_id for update;
  return query
    with raised as (
      update policy_heads h set version = h.version + 1
      where h.workspace_id = of_workspace and not h.project_deleted and h.project_id in (
        select k.project_id from api_keys k
        where k.workspace_id = of_workspace and k.tenant_id = of_tenant and k.revoked_at is null)
      returning h.project_id, h.version
    )
    insert into policy_tenants as p (workspace_id, project_id, tenant_id, version)
      select of_workspace, r.project_id, of_tenant, r.version from raised r
      on conflict (workspace_id, project_id, tenant_id) do update set version = excluded.version
      returning p.project_id;
end $$;

-- Keys by the name that their vendor set.
create index api_keys_by_name on api_keys (workspace_id, name, id) where name is not null;
