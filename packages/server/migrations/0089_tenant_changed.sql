-- expand
-- As before, by the index `api_keys_of_tenant`.
create or replace function policy_tenant_changed(of_workspace uuid, of_tenant uuid) returns setof uuid
language plpgsql as $$
begin
  perform from policy_heads where workspace_id = of_workspace and project_id in (
      select project_id from api_keys
      where workspace_id = of_workspace and tenant_id = of_tenant and not is_revoked)
    order by project_id for update;
  return query
    with raised as (
      update policy_heads h set version = h.version + 1
      where h.workspace_id = of_workspace and not h.project_deleted and h.project_id in (
        select k.project_id from api_keys k
        where k.workspace_id = of_workspace and k.tenant_id = of_tenant and not k.is_revoked)
      returning h.project_id, h.version
    )
    insert into policy_tenants as p (workspace_id, project_id, tenant_id, version)
      select of_workspace, r.project_id, of_tenant, r.version from raised r
      on conflict (workspace_id, project_id, tenant_id) do update set version = excluded.version
      returning p.project_id;
end $$;
