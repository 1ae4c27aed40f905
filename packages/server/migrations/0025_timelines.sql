-- The copy of the database that assigned the policy versions. A promoted standby begins a new timeline, and may lack
-- the last commits of the primary that it replaces: it would assign their versions a second time.

create table store_timelines (
  -- One row: this database. Rows of others come with a copy of their tables, and are deleted at once.
  database_id oid primary key,
  -- The cluster's identifier; empty if the server does not report it.
  system_id text not null,
  -- The first eight digits of a WAL file's name, or `none` if the server has no WAL.
  timeline text not null,
  -- When all policy versions were raised because of it; null if there were none.
  raised_at timestamptz(3)
);

-- For the role of requests, which cannot read the service's own tables.
create function store_raised_at() returns timestamptz language sql stable security definer
  set search_path = pg_catalog, pg_temp as 'select raised_at from public.store_timelines';

-- The checkpoint's own record names the new timeline only some time after a promotion; the log does so at once.
create function store_wal_timeline() returns text language plpgsql as $$
begin
  if pg_is_in_recovery() then return 'standby'; end if;
  return left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception
  -- Storage that replicas share, such as Aurora's, has no WAL; a fail-over loses nothing there.
  when feature_not_supported or object_not_in_prerequisite_state then
    return case when pg_is_in_recovery() then 'standby' else 'none' end;
end $$;

create function store_system_id() returns text language plpgsql as $$
begin
  return (select system_identifier::text from pg_control_system());
exception
  when insufficient_privilege or feature_not_supported then return '';
end $$;

create function store_database_id() returns oid language sql stable as $$
  select oid from pg_database where datname = current_database()
$$;

-- `same`, `new` or `standby`: every connection calls it before its first statement.
create function store_state() returns text language plpgsql as $$
declare
  timeline_now text := store_wal_timeline();
begin
  if timeline_now = 'standby' then return 'standby'; end if;
  return case when exists (
    select from store_timelines t
    where t.database_id = store_database_id() and t.timeline = timeline_now and t.system_id = store_system_id()
  ) then 'same' else 'new' end;
end $$;

-- The short form, for statements whose connection may lead to another server by now, behind a pooler.
create function store_is_same() returns boolean language plpgsql as $$
begin
  return exists (select from store_timelines t where t.timeline = store_wal_timeline());
end $$;

-- Raises all policy versions, and their floors to them, so that every node reads the whole policy again; and records the
-- timeline for which it did so. Does nothing if another transaction has done it; with `more` it also raises on a known
-- timeline. A skipped timeline was served by a server whose own raise is unknown here, so each counts. Returns the size
-- of the raise.
create function adopt_store(by bigint, more boolean) returns bigint language plpgsql as $$
declare
  timeline_now text;
  known store_timelines;
  steps bigint;
  raised bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('keyrail.timeline', 0));
  timeline_now := store_wal_timeline();
  if timeline_now = 'standby' or (not more and store_state() = 'same') then return 0; end if;
  select * into known from store_timelines t
    where t.database_id = store_database_id() and t.system_id = store_system_id();
  steps := case when known.timeline ~ '^[0-9A-F]{8}$' and timeline_now ~ '^[0-9A-F]{8}$'
    then ('x' || timeline_now)::bit(32)::bigint - ('x' || known.timeline)::bit(32)::bigint else 0 end;
  steps := least(1000, greatest(steps + case when more then 1 else 0 end, 1));
  -- In the order in which mutations lock them.
  perform from policy_heads order by workspace_id, project_id for update;
  update policy_heads set version = version + by * steps, floor = version + by * steps;
  get diagnostics raised = row_count;
  delete from store_timelines;
  insert into store_timelines (database_id, system_id, timeline, raised_at)
    values (store_database_id(), store_system_id(), timeline_now, case when raised > 0 then service_now() end);
  return by * steps;
end $$;
