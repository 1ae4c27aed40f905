-- What somebody who looks for an attack asks for: who signed in, from where, and who was refused. Not hash-chained: it is
-- kept for 90 days, and it goes with the person or the workspace that it is about.

create table security_events (
  -- All zeros for what is of no workspace. No foreign key: rows are written apart from what they tell of.
  workspace_id uuid not null,
  id uuid not null,
  kind text not null constraint security_events_kind check (kind ~ '^[a-z][a-z_]{0,39}$'),
  -- The person whom it is about, where there is one.
  user_id uuid,
  actor_type text constraint security_events_actor_type check (actor_type ~ '^[a-z][a-z_]{0,19}$'),
  actor_id text constraint security_events_actor_id_bounds check (char_length(actor_id) <= 64),
  ip text constraint security_events_ip_bounds check (char_length(ip) <= 64),
  user_agent text constraint security_events_user_agent_bounds check (char_length(user_agent) <= 200),
  -- How often, from created_at to last_at: repetitions within a minute are one row.
  count integer not null constraint security_events_count_bounds check (count >= 1),
  details jsonb not null constraint security_events_details_bounds
    check (jsonb_typeof(details) = 'object' and octet_length(details::text) <= 1000),
  -- Of a sign-in: SHA-256 of what its device is known by.
  device bytea constraint security_events_device_length check (octet_length(device) = 32),
  created_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  primary key (workspace_id, id)
);
create index security_events_by_user on security_events (user_id, id) where user_id is not null;
create index security_events_by_device on security_events (user_id, device) where device is not null;
create index security_events_by_time on security_events (created_at);

-- A workspace sees what is of it, and of its members' accounts what decides who can come in as them; a person sees
-- what is about them. The role adds rows, and neither changes nor removes one.
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
