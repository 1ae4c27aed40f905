-- expand
-- A change of many keys. A row lasts while the change goes on, in batches, and for seven days after that. A process that is killed
-- leaves it undone for another. What is left is a filter and the last id, never a list of keys.
create function bulk_operations_row_checked(
  action text, reason text, actor_type text, actor_id text, envs text[], project_ids uuid[], filter jsonb, places text[],
  matched integer, done integer, batches integer, failures jsonb, finished_at timestamptz
) returns boolean language plpgsql immutable as $$
declare
  broken constant text := case
    when action not in ('revoke', 'disable', 'enable') then 'action'
    when char_length(reason) not between 1 and 500 then 'reason_bounds'
    when actor_type !~ '^[a-z_]{1,32}$' or char_length(actor_id) not between 1 and 128 then 'actor'
    when cardinality(envs) not between 1 and 2 or not envs <@ '{live,test}' then 'envs'
    when cardinality(project_ids) > 200 then 'project_ids_bounds'
    when jsonb_typeof(filter) <> 'object' or octet_length(filter::text) > 4096
      or filter is null and finished_at is null then 'filter_bounds'
    when cardinality(places) > 200 or places is not null and not public.lengths_between(places, 41, 41) then 'places_bounds'
    when least(matched, done, batches) < 0 then 'counts'
    when jsonb_typeof(failures) <> 'array' or jsonb_array_length(failures) > 200
      or octet_length(failures::text) > 32768 then 'failures_bounds'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of bulk_operations breaks bulk_operations_' || broken,
    table = 'bulk_operations', constraint = 'bulk_operations_' || broken;
end $$;

create table bulk_operations (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  action text not null,
  reason text,
  -- Who ordered it, for the audit rows of every batch.
  actor_type text not null,
  actor_id text,
  -- What the caller could see. Null: all projects.
  envs text[] not null,
  project_ids uuid[],
  -- Null: the keys were named by their ids.
  filter jsonb,
  -- The last key that was looked at.
  after_id uuid,
  batches integer not null default 0,
  -- The projects and environments in which keys changed, as `project env`. Null: more than are counted.
  places text[] default '{}',
  matched integer not null,
  done integer not null default 0,
  failures jsonb not null default '[]',
  created_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- When a process last took it up, and until when no other does.
  tried_at timestamptz(3),
  leased_until timestamptz(3),
  primary key (workspace_id, id),
  constraint bulk_operations_row_checked check (bulk_operations_row_checked(action, reason, actor_type, actor_id, envs,
    project_ids, filter, places, matched, done, batches, failures, finished_at))
);
create index bulk_operations_undone on bulk_operations (workspace_id, tried_at) where finished_at is null;
create index bulk_operations_by_end on bulk_operations (finished_at) where finished_at is not null;
alter table bulk_operations enable row level security;
create policy bulk_operations_scope on bulk_operations to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on bulk_operations to keyrail_app;

-- One undone operation of each workspace that no process works on, of those whose last turn is longest ago: ids alone.
create function next_bulk_operations(most integer) returns table (workspace_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select turn.workspace_id, turn.id from (
    select distinct on (o.workspace_id) o.workspace_id, o.id, o.leased_until,
      coalesce(max(o.tried_at) over own, min(o.created_at) over own) as last_turn
    from public.bulk_operations o where o.finished_at is null
    window own as (partition by o.workspace_id)
    order by o.workspace_id, o.leased_until > public.service_now() nulls first, o.tried_at nulls first, o.created_at) turn
  where coalesce(turn.leased_until <= public.service_now(), true)
  order by turn.last_turn limit most
$$;
revoke execute on function next_bulk_operations(integer) from public;
grant execute on function next_bulk_operations(integer) to keyrail_app;
