-- expand
-- A paused key keeps all else of its row, so that resuming gives back exactly what was. `disabled_by` says who may resume it.
alter table api_keys
  add column disabled_at timestamptz,
  add column disabled_reason text,
  add column disabled_by text;

-- The function of 0085, with the bounds of a pause.
create function api_keys_row_checked(
  env text, lookup_hash bytea, meta json, name text, rate_limits jsonb, revoked_reason text, scopes text[],
  disabled_at timestamptz, disabled_reason text, disabled_by text
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
    -- Scopes that are short together are short each.
    when cardinality(scopes) > 64 or '' = any(scopes)
      or char_length(array_to_string(scopes, '')) > 200 and not public.lengths_between(scopes, 1, 200) then 'scopes_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of api_keys breaks api_keys_' || broken,
    table = 'api_keys', constraint = 'api_keys_' || broken;
end $$;

alter table api_keys add constraint api_keys_row_checked check (
  api_keys_row_checked(env, lookup_hash, meta, name, rate_limits, revoked_reason, scopes, disabled_at, disabled_reason, disabled_by)
) not valid;
