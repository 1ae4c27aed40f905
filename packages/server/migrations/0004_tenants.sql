-- Tenants: the vendor's customer organisations, the billing unit.

create table tenants (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  external_id text not null constraint tenants_external_id_bounds check (char_length(external_id) between 1 and 200),
  name text constraint tenants_name_bounds check (char_length(name) between 1 and 200),
  meta json not null default '{}'
    constraint tenants_meta_bounds check (json_typeof(meta) = 'object' and octet_length(meta::text) <= 65536),
  -- Part of every embed token; raising it ends all existing ones.
  embed_epoch bigint not null default 1 constraint tenants_embed_epoch check (embed_epoch >= 1),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (workspace_id, id)
);
create unique index tenants_external_id_unique on tenants (workspace_id, external_id) where deleted_at is null;

alter table tenants enable row level security;
create policy tenants_scope on tenants to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on tenants to keyrail_app;
