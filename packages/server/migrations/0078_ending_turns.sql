-- expand
-- When a process last took the ending up. One that does not get on goes behind the others, and those of a workspace share its
-- turns; otherwise a few that are too large would keep those of every other workspace waiting for ever.
alter table endings add column tried_at timestamptz(3);

-- One undone ending of each workspace, of those whose last turn is longest ago: ids alone. The release before still reads
-- `undone_endings`.
create function next_endings(most integer) returns table (workspace_id uuid, maker_type text, maker_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select turn.workspace_id, turn.maker_type, turn.maker_id from (
    select distinct on (e.workspace_id) e.workspace_id, e.maker_type, e.maker_id,
      coalesce(max(e.tried_at) over own, min(e.began_at) over own) as last_turn
    from public.endings e where e.done_at is null
    window own as (partition by e.workspace_id)
    order by e.workspace_id, e.tried_at nulls first, e.began_at) turn
  order by turn.last_turn limit most
$$;
revoke execute on function next_endings(integer) from public;
grant execute on function next_endings(integer) to keyrail_app;
