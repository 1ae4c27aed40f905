-- expand
-- Somebody may sign up with the address of another person. The account is proven once its password and its mailbox were
-- shown to belong together: a sign-in after the address was verified, a mailed invitation that the account accepts, or a
-- reset. A reset of an account that is not proven disowns what it made before.

alter table users
  -- '-infinity' stands in accounts from before, that carry no such note.
  add column proven_at timestamptz(3) default '-infinity',
  -- How often the account has disowned what it made. A number and no time, because two clocks would be compared.
  add column disowned_count integer not null default 0,
  -- Whether a proven person chose the name.
  add column name_is_own boolean not null default false;
alter table users alter column proven_at drop default;

-- The count of its person at the time when the person joined, or decided to keep the workspace. A lower one marks the
-- workspace as unproven. A release that does not know the column writes 0, which is never too high.
alter table workspace_members add column proven_count integer not null default 0;
grant update (proven_count) on workspace_members to keyrail_app;

-- What an account made ends after the reset, workspace by workspace. A process that is killed leaves it undone for another.
-- The page of a used verification link can ask for that, with a token for that: one of a reset could be replaced by a client
-- that asks for another.
create table disownings (
  user_id uuid primary key references users (id),
  token_digest bytea constraint disownings_token_digest_length check (octet_length(token_digest) = 32),
  token_expires_at timestamptz(3),
  -- Null: nothing has to end.
  began_at timestamptz(3),
  -- The last workspace in which it has begun.
  reached uuid,
  done_at timestamptz(3)
);
create index disownings_undone on disownings (began_at) where began_at is not null and done_at is null;
alter table disownings enable row level security;
create policy disownings_scope on disownings to keyrail_app using (user_id = app_user_id());
grant select, insert, update on disownings to keyrail_app;

-- Undone ones of every person, oldest first: ids alone.
create function undone_disownings(most integer) returns table (user_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select d.user_id from public.disownings d where d.began_at is not null and d.done_at is null order by d.began_at limit most
$$;
revoke execute on function undone_disownings(integer) from public;
grant execute on function undone_disownings(integer) to keyrail_app;
