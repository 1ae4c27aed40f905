-- The makers: the maker of each invitation, the session in which a person made something, and indexes to find
-- everything that a maker has made.

alter table secret_keys add column created_in_session uuid;
create index secret_keys_by_maker on secret_keys (workspace_id, created_by_type, created_by_id);
create index secret_keys_by_session on secret_keys (workspace_id, created_in_session)
  where created_in_session is not null;

-- Null in a row of the previous release, which sets `invited_by` for an inviting person.
alter table workspace_invites
  add column created_by_type text
    constraint workspace_invites_created_by check (created_by_type in ('user', 'secret_key')),
  add column created_by_id text,
  add column created_in_session uuid;

update workspace_invites set created_by_type = 'user', created_by_id = invited_by::text where invited_by is not null;
update workspace_invites i set created_by_type = l.actor_type, created_by_id = l.actor_id
from audit_logs l
where i.created_by_type is null and l.workspace_id = i.workspace_id and l.target_id = i.id
  and l.action = 'workspace_invite.created' and l.actor_type in ('user', 'secret_key');

-- The cascade reads pending ones alone.
create index workspace_invites_by_maker on workspace_invites (workspace_id, created_by_type, created_by_id)
  where accepted_at is null and revoked_at is null;
create index workspace_invites_by_session on workspace_invites (workspace_id, created_in_session)
  where created_in_session is not null and accepted_at is null and revoked_at is null;

-- An invitation whose maker had ended before this release would otherwise stay valid for up to seven more days.
with recursive ended (workspace_id, type, id) as (
  select workspace_id, 'secret_key', id::text from secret_keys where revoked_at is not null
  union
  select workspace_id, 'user', user_id::text from workspace_members where removed_at is not null or role <> 'owner'
  union
  select k.workspace_id, 'secret_key', k.id::text
  from ended e join secret_keys k
    on k.workspace_id = e.workspace_id and k.created_by_type = e.type and k.created_by_id = e.id
)
update workspace_invites i set expires_at = least(i.expires_at, service_now())
from ended e
where i.accepted_at is null and i.revoked_at is null
  and i.workspace_id = e.workspace_id and i.created_by_type = e.type and i.created_by_id = e.id;

-- The number of credentials that ended with a leaked one, for its letter.
alter table leak_reports
  add column secret_keys_revoked integer not null default 0
    constraint leak_reports_secret_keys_revoked check (secret_keys_revoked >= 0),
  add column invitations_revoked integer not null default 0
    constraint leak_reports_invitations_revoked check (invitations_revoked >= 0);
-- A redelivered report may find more to end.
grant update (url, source, secret_keys_revoked, invitations_revoked, reported_at) on leak_reports to keyrail_app;
