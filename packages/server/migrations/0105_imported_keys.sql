-- expand
-- When a key came from another system, and its id there. Null: it was made here.
alter table api_keys
  add column imported_at timestamptz(3),
  add column source_id text;

-- The function of 0100, with the bound of the id.
create function api_keys_row_checked(
  env text, lookup_hash bytea, meta json, name text, rate_limits jsonb, revoked_reason text, scopes text[],
  disabled_at timestamptz, disabled_reason text, disabled_by text, allowed_cidrs text[], source_id text
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
    when char_length(source_id) not between 1 and 200 then 'source_id_bounds'
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
  api_keys_row_checked(env, lookup_hash, meta, name, rate_limits, revoked_reason, scopes, disabled_at, disabled_reason,
    disabled_by, allowed_cidrs, source_id)
) not valid;

-- Whether the project has keys of another form than those made here: nodes look up any text then. The head has a copy, because
-- a poll reads no row of the project; both change in one transaction, with the version.
alter table projects add column accepts_imported boolean not null default false;
alter table policy_heads add column accepts_imported boolean not null default false;

-- Which of these digests belong to a credential of anybody. The app cannot read credentials, which have no workspace of its own.
create function digests_taken(digests bytea[]) returns setof bytea
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select c.digest from public.credentials c where c.digest = any(digests)
$$;
revoke execute on function digests_taken(bytea[]) from public;
grant execute on function digests_taken(bytea[]) to keyrail_app;

-- Claims digests for keys of the workspace, in one order for all who do. Returns the keys whose digest nobody had.
create function digests_claimed(digests bytea[], ids uuid[]) returns setof uuid
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into public.credentials (digest, kind, workspace_id, id)
    select d.digest, 'api_key', public.app_workspace_id(), d.id from unnest(digests, ids) d(digest, id) order by d.digest
    on conflict (digest) do nothing returning id
$$;
revoke execute on function digests_claimed(bytea[], uuid[]) from public;
grant execute on function digests_claimed(bytea[], uuid[]) to keyrail_app;

-- The function of 0050, but the digest of a deleted key stays taken if the key was imported: otherwise the next import of the same
-- file would make a key again that was revoked here.
create or replace function delete_ended_keys(of_workspace uuid, ids uuid[]) returns table (deleted_id uuid, deleted_env text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if of_workspace is distinct from public.app_workspace_id() then
    raise exception 'keys of another workspace' using errcode = 'insufficient_privilege';
  end if;
  -- In the order in which mutations lock them.
  perform from public.policy_heads h where h.workspace_id = of_workspace and h.project_id in (
      select k.project_id from public.api_keys k where k.workspace_id = of_workspace and k.id = any(ids))
    order by h.project_id for update;
  return query
    with old as materialized (
      select k.id, k.env, k.lookup_hash, k.imported_at from public.api_keys k
      where k.workspace_id = of_workspace and k.id = any(ids)
        and (k.revoked_at is not null or k.expires_at <= (select public.service_now()))
        and not exists (select from public.leak_reports l
          where l.workspace_id = k.workspace_id and l.credential_id = k.id)
      for update of k skip locked
    ), changes as (
      delete from public.policy_changes c using old where c.workspace_id = of_workspace and c.key_id = old.id
      returning c.project_id, c.version
    ), floors as (
      update public.policy_heads h set floor = greatest(h.floor, last.version)
      from (select c.project_id, max(c.version) as version from changes c group by c.project_id) last
      where h.workspace_id = of_workspace and h.project_id = last.project_id
    ), credential as (
      delete from public.credentials c using old where c.digest = old.lookup_hash and old.imported_at is null
    )
    delete from public.api_keys k using old where k.workspace_id = of_workspace and k.id = old.id
    returning k.id, k.env;
end $$;
