-- expand
-- The live sessions of a person but one. It counts past row-level security, which hides rows from a transaction of the wrong
-- person, and so would show that none is left.
create function sessions_left(of_user uuid, but uuid) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select count(*) from public.sessions s
  where s.user_id = of_user and s.ended_at is null and s.expires_at > public.service_now() and s.id <> but
$$;
revoke execute on function sessions_left(uuid, uuid) from public;
grant execute on function sessions_left(uuid, uuid) to keyrail_app;
