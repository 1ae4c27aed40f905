-- Events for detecting attacks: sign-ins, their origin, and refusals. Not hash-chained: rows are kept for 90 days, and
-- deleted with their person or workspace.

create table security_events (
  -- All zeros without a workspace. No foreign key: rows are written apart from the rows that they describe.
  workspace_id uuid not null,
  id uuid not null,
  kind text not null constraint security_events_kind check (kind ~ '^[a-z][a-z_]{0,39}$'),
  -- The person concerned, if any.
  user_id uuid,
  actor_type text constraint security_events_actor_type check (actor_type ~ '^[a-z][a-z_]{0,19}$'),
  actor_id text constraint security_events_actor_id_bounds check (char_length(actor_id) <= 64),
  ip text constraint security_events_ip_bounds check (char_length(ip) <= 64),
  user_agent text constraint security_events_user_agent_bounds check (char_length(user_agent) <= 200),
  -- The number of repetitions from created_at to last_at, in one row for each minute.
  count integer not null constraint security_events_count_bounds check (count >= 1),
  details jsonb not null constraint security_events_details_bounds
    check (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 1000),
  -- For a sign-in: SHA-256 of the properties that identify its device.
  device bytea constraint security_events_device_length check (octet_length(device) = 32),
  created_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  primary key (workspace_id, id)
);
create index security_events_by_user on security_events (user_id, id) where user_id is not null;
create index security_events_by_device on security_events (user_id, device) where device is not null;
create index security_events_by_time on security_events (created_at);

-- A workspace sees its events, and from its members' accounts those that affect who can enter it as them; a person sees
-- their events. The role adds rows, and cannot change or delete one.
alter table security_events enable row level security;
create policy security_events_scope on security_events to keyrail_app
  using (workspace_id = app_workspace_id() or user_id = app_user_id() or (
    workspace_id = '00000000-0000-0000-0000-000000000000'
    and kind in ('sign_in_failed', 'reset_requested', 'password_changed', 'password_reset')
    and exists (
      select from workspace_members m
      where m.workspace_id = app_workspace_id() and m.user_id = security_events.user_id
        and m.removed_at is null and m.joined_at <= security_events.created_at)))
  with check (workspace_id = app_workspace_id() or (user_id = app_user_id() and (
    workspace_id = '00000000-0000-0000-0000-000000000000' or exists (
      select from workspace_members m
      where m.workspace_id = security_events.workspace_id and m.user_id = app_user_id()
        and m.removed_at is null))));
grant select, insert on security_events to keyrail_app;
