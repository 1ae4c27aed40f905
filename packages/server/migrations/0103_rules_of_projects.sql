-- expand
-- How many days a key lives at most; null: any number. Nodes refuse older keys only with `refuse`.
alter table projects
  add column max_key_lifetime_days integer,
  add column lifetime text not null default 'report',
  -- A deletion is refused until this is false.
  add column delete_protection boolean not null default false;
alter table projects
  add constraint projects_lifetime check (lifetime in ('report', 'refuse')) not valid,
  add constraint projects_max_key_lifetime_days_bounds check (max_key_lifetime_days between 1 and 3650) not valid;
alter table tenants add column delete_protection boolean not null default false;

-- The function of 0099 under another name, because a process of the release before calls that one.
create function next_bulks(most integer) returns table (workspace_id uuid, id uuid)
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
revoke execute on function next_bulks(integer) from public;
grant execute on function next_bulks(integer) to keyrail_app;

-- The release before does not know a filter by hygiene, and would change all other keys too: it never gets such an operation.
create or replace function next_bulk_operations(most integer) returns table (workspace_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select turn.workspace_id, turn.id from (
    select distinct on (o.workspace_id) o.workspace_id, o.id, o.leased_until,
      coalesce(max(o.tried_at) over own, min(o.created_at) over own) as last_turn
    from public.bulk_operations o where o.finished_at is null and not o.filter ? 'hygiene'
    window own as (partition by o.workspace_id)
    order by o.workspace_id, o.leased_until > public.service_now() nulls first, o.tried_at nulls first, o.created_at) turn
  where coalesce(turn.leased_until <= public.service_now(), true)
  order by turn.last_turn limit most
$$;
