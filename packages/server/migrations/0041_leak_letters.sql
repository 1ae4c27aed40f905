-- expand
-- Each leaked key of a report is revoked in a separate transaction. One letter to each recipient names them all.

-- The letter that names a key. Null: the letter is about this credential alone, as for a session.
alter table leak_reports add column letter_id uuid;
grant update (letter_id) on leak_reports to keyrail_app;

-- A letter that is not queued yet, noted together with the first key that it names. The process that received the report
-- queues it, or upkeep, if that process was killed.
create table leak_letters (
  workspace_id uuid not null references workspaces (id),
  letter_id uuid not null,
  noted_at timestamptz(3) not null,
  primary key (workspace_id, letter_id)
);
alter table leak_letters enable row level security;
create policy leak_letters_scope on leak_letters to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, delete on leak_letters to keyrail_app;
