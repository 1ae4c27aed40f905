-- expand
-- The person or the secret key that made a key; null for a key made with an embed token, or by a release that writes none.
-- Room is made from the ended keys of the same maker first.
alter table api_keys add column made_by uuid;

-- Deletes those of the keys that have ended, with their credentials, and returns them. The role of requests can delete
-- keys in no other way. A key whose leak is reported stays. Nodes that have not heard of the last change of a deleted key
-- get a snapshot in place of a delta: its change goes too. Waits for no key, but for the policy heads of their projects.
create function delete_ended_keys(of_workspace uuid, ids uuid[]) returns table (deleted_id uuid, deleted_env text)
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
      select k.id, k.env, k.lookup_hash from public.api_keys k
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
      delete from public.credentials c using old where c.digest = old.lookup_hash
    )
    delete from public.api_keys k using old where k.workspace_id = of_workspace and k.id = old.id
    returning k.id, k.env;
end $$;
revoke execute on function delete_ended_keys(uuid, uuid[]) from public;
grant execute on function delete_ended_keys(uuid, uuid[]) to keyrail_app;

-- The same for secret keys, one by one in the given order. The maker of a deleted key takes its place above the one key that it may
-- have made, so that what ends makers finds that one; a key that made more stays until they are gone. A key under which
-- something is ending stays, and so does one with open invitations, or whose last request still writes.
create function delete_ended_secret_keys(of_workspace uuid, ids uuid[]) returns table (deleted_id uuid, deleted_env text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one uuid;
  old public.secret_keys;
  made uuid[];
begin
  if of_workspace is distinct from public.app_workspace_id() then
    raise exception 'keys of another workspace' using errcode = 'insufficient_privilege';
  end if;
  foreach one in array ids loop
    continue when not pg_try_advisory_xact_lock(public.right_lock(of_workspace, one));
    select k.* into old from public.secret_keys k
      where k.workspace_id = of_workspace and k.id = one
        and (k.revoked_at is not null or k.expires_at <= public.service_now())
        and not exists (select from public.endings e where e.workspace_id = k.workspace_id
          and e.maker_type = 'secret_key' and e.maker_id = k.id and e.done_at is null)
        and not exists (select from public.leak_reports l
          where l.workspace_id = k.workspace_id and l.credential_id = k.id)
        and not exists (select from public.workspace_invites i where i.workspace_id = k.workspace_id
          and i.created_by_type = 'secret_key' and i.created_by_id = k.id::text and i.accepted_at is null
          and i.revoked_at is null and i.expires_at > public.service_now())
      for update skip locked;
    continue when not found;
    made := array(select k.id from public.secret_keys k where k.workspace_id = of_workspace
      and k.created_by_type = 'secret_key' and k.created_by_id = one::text limit 2);
    continue when cardinality(made) > 1;
    if cardinality(made) = 1 then
      perform from public.secret_keys k where k.workspace_id = of_workspace and k.id = made[1]
        for no key update skip locked;
      continue when not found;
      update public.secret_keys k set created_by_type = old.created_by_type, created_by_id = old.created_by_id,
          created_in_session = old.created_in_session
        where k.workspace_id = of_workspace and k.id = made[1];
    end if;
    delete from public.endings e
      where e.workspace_id = of_workspace and e.maker_type = 'secret_key' and e.maker_id = one;
    delete from public.credentials c where c.workspace_id = of_workspace and c.kind = 'secret_key' and c.id = one;
    delete from public.secret_keys k where k.workspace_id = of_workspace and k.id = one;
    deleted_id := one;
    deleted_env := old.env;
    return next;
  end loop;
end $$;
revoke execute on function delete_ended_secret_keys(uuid, uuid[]) from public;
grant execute on function delete_ended_secret_keys(uuid, uuid[]) to keyrail_app;
