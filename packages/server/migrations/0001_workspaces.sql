-- Workspaces, and what every later table depends on: the functions for time and scope, the bounds that constraints
-- share, and the credentials that are unique across workspaces.

-- The store's clock. It alone decides expiry and lock times, so that processes with wrong clocks agree; a test replaces
-- this one function.
create function service_now() returns timestamptz
language sql stable as $$ select date_trunc('milliseconds', clock_timestamp()) $$;

-- The workspace that row-level security lets this transaction see. After SET LOCAL has ended the setting is '' rather
-- than unset, hence nullif.
create function app_workspace_id() returns uuid
language sql stable as $$ select nullif(current_setting('app.workspace_id', true), '')::uuid $$;

create function lengths_between(items text[], fewest int, most int) returns boolean
language sql immutable
as $$ select coalesce(bool_and(char_length(item) between fewest and most), true) from unnest(items) item $$;

-- The spec's RateLimits, rule by rule. Anything but an array of well-formed rules is false, never an error.
create function rate_limits_valid(rules jsonb) returns boolean
language sql immutable as $$
  select case when jsonb_typeof(rules) is distinct from 'array' then false
    when jsonb_array_length(rules) > 8 then false
    else (
      select coalesce(bool_and(
          case when jsonb_typeof(rule) is distinct from 'object' then false
            when jsonb_typeof(rule->'limit') is distinct from 'number'
              or jsonb_typeof(rule->'window_ms') is distinct from 'number' then false
            else coalesce(
              rule->>'id' ~ '^[a-z0-9][a-z0-9._-]{0,63}$'
              and (rule->>'limit')::numeric between 1 and 1000000000
              and (rule->>'limit')::numeric = trunc((rule->>'limit')::numeric)
              and (rule->>'window_ms')::numeric between 1000 and 2678400000
              and (rule->>'window_ms')::numeric = trunc((rule->>'window_ms')::numeric)
              and rule->>'algorithm' in ('sliding', 'fixed')
              and rule->>'scope' in ('key', 'tenant'), false)
          end), true)
        and count(distinct rule->>'id') = count(*)
      from jsonb_array_elements(rules) rule)
    end
$$;

create table workspaces (
  id uuid primary key,
  name text not null constraint workspaces_name_bounds check (char_length(name) between 1 and 200),
  slug text not null constraint workspaces_slug_bounds check (slug ~ '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$'),
  billing_email text constraint workspaces_billing_email_bounds check (char_length(billing_email) between 3 and 320),
  embed_origins text[] not null default '{}'
    constraint workspaces_embed_origins_bounds
    check (cardinality(embed_origins) <= 20 and lengths_between(embed_origins, 8, 255)),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

-- Each value that is unique across workspaces has a small table keyed by just that value, so that everything else can
-- be partitioned by workspace.
create table workspace_slugs (
  slug text primary key,
  workspace_id uuid not null references workspaces (id)
);
create index workspace_slugs_workspace on workspace_slugs (workspace_id);

-- A look-up finds the digest first, then the record that it names. SHA-256 of the whole credential, never the
-- credential.
create table credentials (
  digest bytea primary key constraint credentials_digest_length check (octet_length(digest) = 32),
  kind text not null constraint credentials_kind check (kind in ('api_key', 'secret_key', 'session')),
  workspace_id uuid references workspaces (id),
  id uuid not null
);
create index credentials_workspace on credentials (workspace_id);

-- Keys of the service itself, readable by the owning role alone: they sign page cursors.
create table service_secrets (
  name text primary key,
  secret bytea not null,
  created_at timestamptz(3) not null default service_now()
);

alter table workspaces enable row level security;
create policy workspaces_scope on workspaces to keyrail_app using (id = app_workspace_id());
grant select, insert, update on workspaces to keyrail_app;

alter table workspace_slugs enable row level security;
create policy workspace_slugs_scope on workspace_slugs to keyrail_app using (workspace_id = app_workspace_id());
grant insert on workspace_slugs to keyrail_app;

alter table credentials enable row level security;
create policy credentials_scope on credentials to keyrail_app using (workspace_id = app_workspace_id());
grant insert on credentials to keyrail_app;
