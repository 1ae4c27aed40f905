-- expand
-- The end of a maker, whose secret keys and pending invitations end after it, in batches: a secret key, a member or a
-- session. A row lasts while that goes on, and then says what ended. A process that is killed leaves it undone for another.
create table endings (
  workspace_id uuid not null references workspaces (id),
  maker_type text not null constraint endings_maker_type check (maker_type in ('user', 'secret_key', 'session')),
  maker_id uuid not null,
  -- Whether its secret keys end too, not only the invitations.
  revokes_keys boolean not null,
  -- The audit rows name the actor that ended the maker.
  actor_type text not null,
  actor_id text,
  began_at timestamptz(3) not null,
  secret_keys_revoked integer not null default 0
    constraint endings_secret_keys_revoked check (secret_keys_revoked >= 0),
  invitations_revoked integer not null default 0
    constraint endings_invitations_revoked check (invitations_revoked >= 0),
  done_at timestamptz(3),
  primary key (workspace_id, maker_type, maker_id)
);
create index endings_undone on endings (began_at) where done_at is null;
alter table endings enable row level security;
create policy endings_scope on endings to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on endings to keyrail_app;

-- Undone ones of every workspace, oldest first: ids alone.
create function undone_endings(most integer) returns table (workspace_id uuid, maker_type text, maker_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select e.workspace_id, e.maker_type, e.maker_id from public.endings e
  where e.done_at is null order by e.began_at limit most
$$;
revoke execute on function undone_endings(integer) from public;
grant execute on function undone_endings(integer) to keyrail_app;
