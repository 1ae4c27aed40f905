-- expand
-- From which networks keys may be used, in canonical form. Null: those of the tenant. Empty: any.
alter table api_keys add column allowed_cidrs text[];

-- The function of 0094, with the bounds of the networks.
create function api_keys_checked(
  env text, lookup_hash bytea, meta json, name text, rate_limits jsonb, revoked_reason text, scopes text[],
  disabled_at timestamptz, disabled_reason text, disabled_by text, allowed_cidrs text[]
) returns boolean language plpgsql immutable as $$
declare
  broken constant text := case
    when env not in ('live', 'test') then 'env'
    when octet_length(lookup_hash) <> 32 then 'lookup_hash_length'
    when json_typeof(meta) <> 'object' or octet_length(meta::text) > 65536 then 'meta_bounds'
    when char_length(name) not between 1 and 200 then 'name_bounds'
    when rate_limits is not null and not public.rate_limits_valid(rate_limits) then 'rate_limits_bounds'
    when char_length(revoked_reason) not between 1 and 500 then 'reason_bounds'
    when num_nonnulls(disabled_at, disabled_by) = 1 or disabled_at is null and disabled_reason is not null
      or disabled_by not in ('vendor', 'tenant') or char_length(disabled_reason) not between 1 and 500 then 'disabled'
    when allowed_cidrs is not null
      and (cardinality(allowed_cidrs) > 32 or not public.lengths_between(allowed_cidrs, 4, 43)) then 'allowed_cidrs_bounds'
    -- Scopes that are short together are short each.
    when cardinality(scopes) > 64 or '' = any(scopes)
      or char_length(array_to_string(scopes, '')) > 200 and not public.lengths_between(scopes, 1, 200) then 'scopes_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of api_keys breaks api_keys_' || broken,
    table = 'api_keys', constraint = 'api_keys_' || broken;
end $$;

alter table api_keys add constraint api_keys_checked check (
  api_keys_checked(env, lookup_hash, meta, name, rate_limits, revoked_reason, scopes, disabled_at, disabled_reason, disabled_by,
    allowed_cidrs)
) not valid;

-- The networks of those keys of the tenant that have none of their own. Empty: any.
alter table tenants
  add column allowed_cidrs text[] not null default '{}',
  add constraint tenants_allowed_cidrs_bounds check (
    cardinality(allowed_cidrs) <= 32 and lengths_between(allowed_cidrs, 4, 43)
  ) not valid;

-- The version at which the tenant last got networks, or lost all of them. Nodes without the feature `cidr` see that as many keys
-- that go or come back, of which the log of changes has none: for them it is a floor.
alter table policy_tenants add column networks_version bigint;
