-- Whether an address is invited anywhere, for sign-up by invitation. The index spans workspaces, so no workspace leads
-- it.
create index workspace_invites_open_by_address on workspace_invites (address_key)
  where accepted_at is null and revoked_at is null;
