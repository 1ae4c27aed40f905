-- Secret keys: the credentials of a vendor's own backend.

create table secret_keys (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  env text not null constraint secret_keys_env check (env in ('live', 'test')),
  role text not null constraint secret_keys_role check (role in ('owner', 'admin')),
  created_by_type text not null
    constraint secret_keys_created_by check (created_by_type in ('user', 'secret_key', 'bootstrap', 'operator')),
  created_by_id text,
  name text constraint secret_keys_name_bounds check (char_length(name) between 1 and 200),
  meta json not null default '{}'
    constraint secret_keys_meta_bounds check (json_typeof(meta) = 'object' and octet_length(meta::text) <= 65536),
  display_prefix text not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  revoked_reason text constraint secret_keys_reason_bounds check (char_length(revoked_reason) between 1 and 500),
  rotated_from uuid,
  rotated_to uuid,
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (workspace_id, id)
);

alter table secret_keys enable row level security;
create policy secret_keys_scope on secret_keys to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on secret_keys to keyrail_app;
