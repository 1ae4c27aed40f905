-- Keys, and the log of which key changed at which policy version.

create table api_keys (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  project_id uuid not null,
  tenant_id uuid not null,
  env text not null constraint api_keys_env check (env in ('live', 'test')),
  name text constraint api_keys_name_bounds check (char_length(name) between 1 and 200),
  display_prefix text not null,
  lookup_hash bytea not null constraint api_keys_lookup_hash_length check (octet_length(lookup_hash) = 32),
  scopes text[] not null default '{}'
    constraint api_keys_scopes_bounds check (cardinality(scopes) <= 64 and lengths_between(scopes, 1, 200)),
  meta json not null default '{}'
    constraint api_keys_meta_bounds check (json_typeof(meta) = 'object' and octet_length(meta::text) <= 65536),
  -- null: the project's default_rate_limits apply; []: no limits.
  rate_limits jsonb constraint api_keys_rate_limits_bounds check (rate_limits is null or rate_limits_valid(rate_limits)),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  revoked_reason text constraint api_keys_reason_bounds check (char_length(revoked_reason) between 1 and 500),
  rotated_from uuid,
  rotated_to uuid,
  -- The end of the overlap of the last rotation: no later expires_at is accepted afterwards.
  overlap_ends_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, project_id) references projects (workspace_id, id),
  foreign key (workspace_id, tenant_id) references tenants (workspace_id, id)
);
create index api_keys_active_by_tenant on api_keys (workspace_id, tenant_id, id) where revoked_at is null;
create index api_keys_active_by_project on api_keys (workspace_id, project_id, id) where revoked_at is null;
create index api_keys_by_tenant on api_keys (workspace_id, tenant_id, id);
create index api_keys_by_project on api_keys (workspace_id, project_id, id);

create table policy_changes (
  workspace_id uuid not null,
  project_id uuid not null,
  version bigint not null,
  key_id uuid not null,
  changed_at timestamptz(3) not null default service_now(),
  primary key (workspace_id, project_id, version, key_id),
  foreign key (workspace_id, project_id) references policy_heads (workspace_id, project_id),
  foreign key (workspace_id, key_id) references api_keys (workspace_id, id)
);

-- Raises a project's version by one and records the keys that changed with it. Versions are assigned under the head's
-- row lock, so none becomes visible before a lower one.
create function policy_changed(of_workspace uuid, of_project uuid, key_ids uuid[]) returns bigint
language plpgsql as $$
declare
  next_version bigint;
begin
  update policy_heads set version = version + 1
    where workspace_id = of_workspace and project_id = of_project and not project_deleted
    returning version into next_version;
  if not found then
    raise exception 'the project is gone' using errcode = 'KR404';
  end if;
  insert into policy_changes (workspace_id, project_id, version, key_id)
    select of_workspace, of_project, next_version, key_id from unnest(key_ids) key_id;
  return next_version;
end $$;

alter table api_keys enable row level security;
create policy api_keys_scope on api_keys to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on api_keys to keyrail_app;

alter table policy_changes enable row level security;
create policy policy_changes_scope on policy_changes to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert on policy_changes to keyrail_app;
