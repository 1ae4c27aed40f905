-- Usage: what the servers of a vendor's fleet have counted, added up by key and hour, and by tenant and month. Reports of
-- many workspaces are written together, so these rows refer to nothing: a foreign key would lock rows of keys that a
-- mutation holds.

-- Which reports were taken. One that is sent again is answered with what came of it the first time. A report older than
-- this has no hour left that would be taken.
create table usage_reports (
  workspace_id uuid not null,
  -- Of the credential that sent it: a test credential cannot spend an id of the live fleet.
  env text not null constraint usage_reports_env check (env in ('live', 'test')),
  -- Drawn by the sender.
  report_id uuid not null,
  accepted int not null constraint usage_reports_accepted_bounds check (accepted between 0 and 1000),
  ignored int not null constraint usage_reports_ignored_bounds check (ignored between 0 and 1000),
  expires_at timestamptz(3) not null,
  primary key (workspace_id, env, report_id)
);
create index usage_reports_by_expiry on usage_reports (expires_at);

-- Requests are numeric: what a sampled node has counted is divided by its rate, and of any number of reports the sum is
-- the same in any order, which that of floating-point numbers is not. Rows that are added to often have room beside
-- them for their next version.
create table usage_hours (
  workspace_id uuid not null,
  key_id uuid not null,
  hour timestamptz(0) not null,
  requests numeric not null constraint usage_hours_requests_bounds check (requests > 0),
  primary key (workspace_id, key_id, hour)
) with (fillfactor = 70);
create index usage_hours_by_hour on usage_hours (hour);

-- The same by tenant, written in the same transaction: the bill of a year reads rows of twelve months and not of 8,760
-- hours a key. Of a key neither tenant, project nor environment ever changes, so nothing here is ever moved.
create table usage_months (
  workspace_id uuid not null,
  -- The first day of the month, in UTC.
  month date not null constraint usage_months_month check (extract(day from month) = 1),
  tenant_id uuid not null,
  project_id uuid not null,
  env text not null constraint usage_months_env check (env in ('live', 'test')),
  requests numeric not null constraint usage_months_requests_bounds check (requests > 0),
  primary key (workspace_id, month, tenant_id, project_id, env)
) with (fillfactor = 70);
-- To prune by, and an expression so that no figure is read by it: a plan for any workspace would take a span of months of
-- all workspaces for less than that of one.
create index usage_months_by_month on usage_months ((month + 0));

alter table usage_reports enable row level security;
create policy usage_reports_scope on usage_reports to keyrail_app using (workspace_id = app_workspace_id());

alter table usage_hours enable row level security;
create policy usage_hours_scope on usage_hours to keyrail_app using (workspace_id = app_workspace_id());
grant select on usage_hours to keyrail_app;

alter table usage_months enable row level security;
create policy usage_months_scope on usage_months to keyrail_app using (workspace_id = app_workspace_id());
grant select on usage_months to keyrail_app;
