-- expand
-- What each workspace asks of the service, an hour in a row: from it the operator learns which one keeps the others waiting. No
-- foreign key: rows of many workspaces are written together, and must wait for none of them.
create table workspace_loads (
  workspace_id uuid not null,
  hour timestamptz(3) not null constraint workspace_loads_hour check (extract(epoch from hour) % 3600 = 0),
  requests bigint not null constraint workspace_loads_requests check (requests >= 0),
  -- How long its transactions held connections of the pools.
  connection_ms bigint not null constraint workspace_loads_connection_ms check (connection_ms >= 0),
  primary key (workspace_id, hour)
);
create index workspace_loads_by_hour on workspace_loads (hour);

-- Only the role that owns the tables writes and reads it, for many workspaces at once.
alter table workspace_loads enable row level security;
create policy workspace_loads_scope on workspace_loads to keyrail_app using (workspace_id = app_workspace_id());
