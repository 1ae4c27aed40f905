-- expand
-- What still works for a person: live sessions but one, and live links of resets. It counts past row-level security, which
-- hides rows from a transaction of the wrong person, and so would show that nothing is left.
create function rights_left(of_user uuid, but uuid) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select (select count(*) from public.sessions s where s.user_id = of_user and s.ended_at is null
      and s.expires_at > public.service_now() and s.id is distinct from but)
    + (select count(*) from public.mail_tokens t where t.user_id = of_user and t.kind = 'password_reset'
      and t.used_at is null and t.expires_at > public.service_now())
$$;
revoke execute on function rights_left(uuid, uuid) from public;
grant execute on function rights_left(uuid, uuid) to keyrail_app;
