-- expand
-- A backup that is restored twice, and a standby that is promoted twice, begin two histories at one version. Raised by a
-- fixed amount alone, both would assign the same versions to different changes. So versions also rise to the clock's:
-- 16 for each millisecond since 1970, more than the changes that a project can have in it. Not beyond 10^14, the
-- year 2168, so that a clock far ahead leaves room: a version in a query has at most 15 digits.
create or replace function adopt_store(by bigint, more boolean) returns bigint language plpgsql as $$
declare
  timeline_now text;
  known store_timelines;
  steps bigint;
  raised bigint;
  by_clock constant bigint := least(extract(epoch from service_now()) * 16000, 1e14);
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
  update policy_heads set version = greatest(version + by * steps, by_clock),
    floor = greatest(version + by * steps, by_clock);
  get diagnostics raised = row_count;
  delete from store_timelines;
  insert into store_timelines (database_id, system_id, timeline, raised_at)
    values (store_database_id(), store_system_id(), timeline_now, case when raised > 0 then service_now() end);
  return by * steps;
end $$;
