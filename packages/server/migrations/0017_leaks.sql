-- Leaked credentials that a code host reports.

-- Where a credential was found that was revoked for it, for the mail about it. The audit log keeps it permanently; this
-- row is deleted long after the mail is sent.
create table leak_reports (
  workspace_id uuid not null references workspaces (id),
  -- The id of the API key, the secret key or the session.
  credential_id uuid not null,
  kind text not null constraint leak_reports_kind check (kind in ('api_key', 'secret_key', 'session')),
  display_prefix text not null
    constraint leak_reports_display_prefix_bounds check (char_length(display_prefix) between 1 and 64),
  url text constraint leak_reports_url_bounds check (char_length(url) between 1 and 2000),
  source text constraint leak_reports_source_bounds check (char_length(source) between 1 and 200),
  reported_at timestamptz(3) not null,
  primary key (workspace_id, credential_id)
);
create index leak_reports_by_time on leak_reports (reported_at);

alter table leak_reports enable row level security;
create policy leak_reports_scope on leak_reports to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert on leak_reports to keyrail_app;

-- A session may have no workspace, and its person still gets a letter.
alter table sessions add column leaked_url text
  constraint sessions_leaked_url_bounds check (char_length(leaked_url) between 1 and 2000);
