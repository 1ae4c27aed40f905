-- Projects, and the head of each policy: the version that a node compares with. It is separate from the project so that
-- a key's mutation locks the head and nothing else.

create table projects (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  name text not null constraint projects_name_bounds check (char_length(name) between 1 and 200),
  slug text not null constraint projects_slug_bounds check (slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'),
  key_prefix text not null default 'kr'
    constraint projects_key_prefix_bounds
    check (key_prefix ~ '^[a-z][a-z0-9]{1,15}$' and key_prefix not in ('krsk', 'krses', 'sk', 'pk', 'rk', 'ghp')),
  default_rate_limits jsonb not null default '[]'
    constraint projects_default_rate_limits_bounds check (rate_limits_valid(default_rate_limits)),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (workspace_id, id)
);
create unique index projects_slug_unique on projects (workspace_id, slug) where deleted_at is null;

create table policy_heads (
  workspace_id uuid not null,
  project_id uuid not null,
  version bigint not null default 1 constraint policy_heads_version check (version >= 1),
  -- A node that asks from below the floor gets a whole snapshot.
  floor bigint not null default 1 constraint policy_heads_floor check (floor between 1 and version),
  project_deleted boolean not null default false,
  primary key (workspace_id, project_id),
  foreign key (workspace_id, project_id) references projects (workspace_id, id)
);

alter table projects enable row level security;
create policy projects_scope on projects to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on projects to keyrail_app;

alter table policy_heads enable row level security;
create policy policy_heads_scope on policy_heads to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on policy_heads to keyrail_app;
