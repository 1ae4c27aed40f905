-- A transaction holds the right of its caller until it ends: the credential, the membership, the tenant's epoch and the
-- workspace. A transaction that ends one of these waits for the holders, and later ones find the right gone.
-- These are advisory locks and not row locks, for two reasons. Postgres lets a new FOR KEY SHARE overtake a waiting FOR
-- UPDATE, so a key under constant use could never be revoked; advisory locks queue in the order of arrival. And they
-- write nothing, where thirty writers with one key would write a multixact each.

-- One right: a credential, member or tenant within its workspace, a session within its person, or a workspace itself.
-- The scope keeps strangers from locking each other's rights. Concatenated text would not be an immutable expression,
-- so Postgres would call it as a separate function, at 20 us each where this takes less than one.
create function right_lock(scope uuid, id uuid) returns bigint
language sql immutable as $$ select uuid_hash_extended(id, uuid_hash_extended(scope, 0)) $$;

-- Waits for all holders of these rights, and makes later ones wait. Always in one order.
create function end_rights(scope uuid, ids uuid[]) returns void
language plpgsql as $$
declare
  one uuid;
begin
  for one in select distinct i from unnest(ids) i order by i loop
    perform pg_advisory_xact_lock(right_lock(scope, one));
  end loop;
end $$;

create function hold_key_right(of_workspace uuid, key_id uuid) returns void
language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, of_workspace));
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, key_id));
  perform from secret_keys k where k.workspace_id = of_workspace and k.id = key_id
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > service_now());
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $$;

-- For a session with a workspace, also the membership, with the role that the request was judged by or a higher one. It
-- reads the session, which row-level security hides from every transaction of a workspace.
create function hold_session_right(session_id uuid, of_user uuid, of_workspace uuid, as_role text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  roles constant text[] := array['member', 'admin', 'owner'];
begin
  if of_workspace is not null then
    perform pg_advisory_xact_lock_shared(public.right_lock(of_workspace, of_workspace));
  end if;
  perform pg_advisory_xact_lock_shared(public.right_lock(of_user, session_id));
  perform from public.sessions s where s.id = session_id and s.user_id = of_user
    and s.ended_at is null and s.expires_at > public.service_now();
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
  if of_workspace is null then
    return;
  end if;
  perform pg_advisory_xact_lock_shared(public.right_lock(of_workspace, of_user));
  perform from public.workspace_members m where m.workspace_id = of_workspace and m.user_id = of_user
    and m.removed_at is null and array_position(roles, m.role) >= array_position(roles, as_role);
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $$;
revoke execute on function hold_session_right(uuid, uuid, uuid, text) from public;
grant execute on function hold_session_right(uuid, uuid, uuid, text) to keyrail_app;

-- A token of the embed plane ends with its tenant's epoch, and with the secret key that minted it.
create function hold_embed_right(of_workspace uuid, of_tenant uuid, epoch bigint, minter uuid) returns void
language plpgsql as $$
begin
  perform hold_key_right(of_workspace, minter);
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, of_tenant));
  perform from tenants t where t.workspace_id = of_workspace and t.id = of_tenant
    and t.deleted_at is null and t.embed_epoch = epoch;
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $$;
