-- expand
-- A fail-over raised the version and the floor of every project in one transaction, while nothing was served: the more
-- projects there were, the longer. Now it raises one row, and each policy head is as far behind as its own row says. What
-- reads a head adds the rest (`platform/db/raised.ts`); what writes one, of any release, catches up in `catch_up_head`.
--
-- The release before reads heads without the rest. It has `store_timelines` to itself: a raise of this release empties
-- it, so that the connections of that one raise all heads in its way before they read any.
create table store_levels (
  -- One row: this database, as in `store_timelines`.
  database_id oid primary key,
  system_id text not null,
  timeline text not null,
  -- When all policy versions were raised because of it; null if there were none.
  raised_at timestamptz(3),
  -- By how much in all.
  raised_by bigint not null,
  -- No version from before the last raise is lower.
  lowest bigint not null
);
insert into store_levels (database_id, system_id, timeline, raised_at, raised_by, lowest)
  select database_id, system_id, timeline, raised_at, 0, 0 from store_timelines;

-- For the role of requests, which cannot read the service's own tables.
create function store_raised_by() returns bigint language sql stable security definer
  set search_path = pg_catalog, pg_temp as 'select raised_by from public.store_levels';
create function store_lowest() returns bigint language sql stable security definer
  set search_path = pg_catalog, pg_temp as 'select lowest from public.store_levels';
create or replace function store_raised_at() returns timestamptz language sql stable security definer
  set search_path = pg_catalog, pg_temp as $$
  select max(raised_at) from (
    select raised_at from public.store_levels union all select raised_at from public.store_timelines) raises
$$;

-- The raises that a head has: `raised_by` of `store_levels` when it was written.
alter table policy_heads add column raised_by bigint not null default 0;
alter table policy_heads alter column raised_by set default coalesce(store_raised_by(), 0);

create function catch_up_head() returns trigger language plpgsql as $$
declare
  level bigint := public.store_raised_by();
  raised bigint := greatest(old.version + level - old.raised_by, public.store_lowest());
begin
  new.floor := raised + case when new.floor = new.version then new.version - old.version else 0 end;
  new.version := raised + new.version - old.version;
  new.raised_by := level;
  return new;
end $$;
create trigger catch_up_head before update on policy_heads for each row
  when (old.raised_by < store_raised_by()) execute function catch_up_head();

-- `same`, `new` or `standby`: every connection calls it before its first statement.
create function store_level_state() returns text language plpgsql as $$
declare
  timeline_now text := store_wal_timeline();
begin
  if timeline_now = 'standby' then return 'standby'; end if;
  return case when exists (
    select from store_levels t
    where t.database_id = store_database_id() and t.timeline = timeline_now and t.system_id = store_system_id()
  ) then 'same' else 'new' end;
end $$;

-- The short form, for statements whose connection may lead to another server by now, behind a pooler.
create function store_level_is_same() returns boolean language plpgsql as $$
begin
  return exists (select from store_levels t where t.timeline = store_wal_timeline());
end $$;

-- Raises all policy versions as `adopt_store` does, by one row. A change that is not committed yet was written at the level
-- before, and so rises with the others.
create function raise_store(by bigint, more boolean) returns bigint language plpgsql as $$
declare
  timeline_now text;
  known store_levels;
  steps bigint;
  by_clock constant bigint := least(extract(epoch from service_now()) * 16000, 1e14);
begin
  perform pg_advisory_xact_lock(hashtextextended('keyrail.timeline', 0));
  timeline_now := store_wal_timeline();
  if timeline_now = 'standby' or (not more and store_level_state() = 'same') then return 0; end if;
  select * into known from store_levels t
    where t.database_id = store_database_id() and t.system_id = store_system_id();
  steps := case when known.timeline ~ '^[0-9A-F]{8}$' and timeline_now ~ '^[0-9A-F]{8}$'
    then ('x' || timeline_now)::bit(32)::bigint - ('x' || known.timeline)::bit(32)::bigint else 0 end;
  steps := least(1000, greatest(steps + case when more then 1 else 0 end, 1));
  -- Heads have the level of the database from which they were copied, so its row counts too. Lost, only they know it.
  select coalesce(max(raised_by), (select max(raised_by) from policy_heads), 0), coalesce(max(lowest), 0)
    into known.raised_by, known.lowest from store_levels;
  known.raised_at := null;
  -- A database that is used for the first time begins without a raise.
  if exists (select from policy_heads) then
    known.raised_at := service_now();
    known.raised_by := known.raised_by + by * steps;
    known.lowest := greatest(known.lowest + by * steps, by_clock);
  end if;
  delete from store_levels;
  delete from store_timelines;
  insert into store_levels (database_id, system_id, timeline, raised_at, raised_by, lowest)
    values (store_database_id(), store_system_id(), timeline_now, known.raised_at, known.raised_by, known.lowest);
  return by * steps;
end $$;

-- Records reports of many nodes at once, in their order, and returns the positions of the recorded ones. Invented
-- versions and projects are ignored; a head's version is that with the raises which it lacks. A project keeps at most `most` nodes that see live keys, and `most_test` others; a
-- silent node makes room for a new one.
create or replace function policy_nodes_seen(
  ws uuid[], projects uuid[], sights text[], nodes text[], versions bigint[], most int, most_test int
) returns setof bigint language plpgsql as $$
declare
  fresh record;
  room int;
  kept int;
  moment timestamptz(3) := service_now();
  raised bigint := store_raised_by();
  lowest bigint := store_lowest();
begin
  with said as (
    select distinct on (w, p, s, n) w, p, s, n, v
    from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
    order by w, p, s, n, place desc
  )
  update policy_nodes k
    set version = case when said.v = 0 then k.version else said.v end, seen_at = moment
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and said.v <=
      case when h.raised_by < raised then greatest(h.version + raised - h.raised_by, lowest) else h.version end
    where k.workspace_id = said.w and k.project_id = said.p and k.sees = said.s and k.node = said.n;

  for fresh in
    with said as (
      select distinct on (w, p, s, n) w, p, s, n, v
      from unnest(ws, projects, sights, nodes, versions) with ordinality u(w, p, s, n, v, place)
      order by w, p, s, n, place desc
    )
    select said.w, said.p, said.s = 'test' as is_test,
      array_agg(said.s) as sights, array_agg(said.n) as nodes, array_agg(said.v) as versions
    from said join policy_heads h on h.workspace_id = said.w and h.project_id = said.p and said.v <=
      case when h.raised_by < raised then greatest(h.version + raised - h.raised_by, lowest) else h.version end
    where not exists (select from policy_nodes k where k.workspace_id = said.w and k.project_id = said.p
      and k.sees = said.s and k.node = said.n)
    group by said.w, said.p, said.s = 'test' order by said.w, said.p, said.s = 'test'
  loop
    perform pg_advisory_xact_lock(hashtextextended('keyrail.policy_nodes ' || fresh.p, 0));
    room := case when fresh.is_test then most_test else most end;
    select count(*) into kept from policy_nodes k
      where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test;
    if kept + cardinality(fresh.nodes) > room then
      delete from policy_nodes where (workspace_id, project_id, sees, node) in (
        select k.workspace_id, k.project_id, k.sees, k.node from policy_nodes k
        where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test
          and k.seen_at < moment - interval '90 seconds'
        order by k.seen_at limit kept + cardinality(fresh.nodes) - room for update skip locked);
      select count(*) into kept from policy_nodes k
        where k.workspace_id = fresh.w and k.project_id = fresh.p and (k.sees = 'test') = fresh.is_test;
    end if;
    insert into policy_nodes (workspace_id, project_id, sees, node, version, seen_at)
      select fresh.w, fresh.p, u.s, u.n, u.v, moment from unnest(fresh.sights, fresh.nodes, fresh.versions) u(s, n, v)
      order by u.s, u.n limit greatest(room - kept, 0)
      on conflict do nothing;
  end loop;

  return query
    select u.place from unnest(ws, projects, sights, nodes) with ordinality u(w, p, s, n, place)
    join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees = u.s and k.node = u.n;
end $$;
