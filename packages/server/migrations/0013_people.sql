-- People: accounts and their sessions, without a workspace; and the members of a workspace, with its invitations.

-- The person that row-level security lets this transaction see; null for a transaction without a person.
create function app_user_id() returns uuid
language sql stable as $$ select nullif(current_setting('app.user_id', true), '')::uuid $$;

create table users (
  id uuid primary key,
  -- As entered: mail goes to this address and to no other.
  email text not null constraint users_email_bounds check (char_length(email) between 3 and 320),
  -- The compared form: NFC and lower case.
  address_key text not null constraint users_address_key_unique unique,
  name text constraint users_name_bounds check (char_length(name) between 1 and 200),
  email_verified_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

-- Apart from the account, which colleagues may see.
create table user_passwords (
  user_id uuid primary key references users (id),
  -- Argon2id in PHC form.
  hash text not null constraint user_passwords_hash_form check (hash like '$argon2id$%')
);

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  -- Its current workspace; each request checks whether the person is a member.
  acts_in uuid,
  user_agent text constraint sessions_user_agent_bounds check (char_length(user_agent) <= 500),
  ip text constraint sessions_ip_bounds check (char_length(ip) <= 64),
  created_at timestamptz(3) not null,
  last_seen_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3)
);
create index sessions_by_user on sessions (user_id, id);
create index sessions_by_end on sessions (least(ended_at, expires_at));
create index credentials_sessions on credentials (id) where kind = 'session';

-- What a mailed link proves. One per kind and person: a new one retires the old one.
create table mail_tokens (
  user_id uuid not null references users (id),
  kind text not null constraint mail_tokens_kind check (kind in ('verification', 'password_reset')),
  digest bytea not null constraint mail_tokens_digest_length check (octet_length(digest) = 32),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (user_id, kind)
);
create index mail_tokens_by_end on mail_tokens (least(used_at, expires_at));

-- A former member stays as a row, so that the audit log can still name them.
create table workspace_members (
  workspace_id uuid not null references workspaces (id),
  user_id uuid not null,
  role text not null constraint workspace_members_role check (role in ('owner', 'admin', 'member')),
  joined_at timestamptz(3) not null,
  removed_at timestamptz(3),
  primary key (workspace_id, user_id)
);
create index workspace_members_by_user on workspace_members (user_id);

create table workspace_invites (
  workspace_id uuid not null references workspaces (id),
  id uuid not null,
  email text not null constraint workspace_invites_email_bounds check (char_length(email) between 3 and 320),
  address_key text not null,
  role text not null constraint workspace_invites_role check (role in ('owner', 'admin', 'member')),
  -- The digests of the owner's copy and of the mailed one: two tokens that end together.
  digest bytea not null constraint workspace_invites_digest_length check (octet_length(digest) = 32),
  mailed_digest bytea constraint workspace_invites_mailed_digest_length check (octet_length(mailed_digest) = 32),
  -- The inviting person, if any: their pending invitations end when they cease to be an owner.
  invited_by uuid,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  revoked_at timestamptz(3),
  primary key (workspace_id, id)
);
create index workspace_invites_by_address on workspace_invites (workspace_id, address_key);

alter table users enable row level security;
create policy users_scope on users to keyrail_app
  using (id = app_user_id() or exists (
    select from workspace_members m where m.workspace_id = app_workspace_id() and m.user_id = users.id))
  with check (id = app_user_id());
grant select, insert, update on users to keyrail_app;

alter table user_passwords enable row level security;
create policy user_passwords_scope on user_passwords to keyrail_app using (user_id = app_user_id());
grant select, insert, update on user_passwords to keyrail_app;

alter table sessions enable row level security;
create policy sessions_scope on sessions to keyrail_app using (user_id = app_user_id());
grant select, insert, update on sessions to keyrail_app;

alter table mail_tokens enable row level security;
create policy mail_tokens_scope on mail_tokens to keyrail_app using (user_id = app_user_id());
grant select, insert, update on mail_tokens to keyrail_app;

-- A person sees their own memberships, can join only themselves, and cannot change one.
alter table workspace_members enable row level security;
create policy workspace_members_scope on workspace_members for select to keyrail_app
  using (workspace_id = app_workspace_id() or user_id = app_user_id());
create policy workspace_members_join on workspace_members for insert to keyrail_app
  with check (workspace_id = app_workspace_id() and user_id = app_user_id());
create policy workspace_members_change on workspace_members for update to keyrail_app
  using (workspace_id = app_workspace_id());
grant select, insert, update (role, joined_at, removed_at) on workspace_members to keyrail_app;

alter table workspace_invites enable row level security;
create policy workspace_invites_scope on workspace_invites to keyrail_app
  using (workspace_id = app_workspace_id());
grant select, insert, update on workspace_invites to keyrail_app;

-- A person sees their workspaces, and adds credentials for their sessions, which belong to no workspace.
alter policy workspaces_scope on workspaces
  using (id = app_workspace_id() or exists (
    select from workspace_members m
    where m.workspace_id = workspaces.id and m.user_id = app_user_id() and m.removed_at is null))
  with check (id = app_workspace_id());
alter policy credentials_scope on credentials
  using ((workspace_id = app_workspace_id() and kind <> 'session')
    or (workspace_id is null and kind = 'session' and exists (
      select from sessions s where s.id = credentials.id and s.user_id = app_user_id())));
