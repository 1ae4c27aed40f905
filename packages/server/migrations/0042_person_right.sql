-- expand
-- Ending every session of a person takes one lock, the person's own, however many sessions there are: one lock a session
-- fills Postgres' lock table. So the use of each session holds its person too.
create or replace function hold_session_right(session_id uuid, of_user uuid, of_workspace uuid, as_role text)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  roles constant text[] := array['member', 'admin', 'owner'];
begin
  if of_workspace is not null then
    perform pg_advisory_xact_lock_shared(public.right_lock(of_workspace, of_workspace));
  end if;
  perform pg_advisory_xact_lock_shared(public.right_lock(of_user, of_user));
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
