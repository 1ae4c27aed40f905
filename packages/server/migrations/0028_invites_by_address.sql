-- Whether an address is invited anywhere, asked where sign-up is for the invited alone. Of no workspace, so no workspace leads.
create index workspace_invites_open_by_address on workspace_invites (address_key)
  where accepted_at is null and revoked_at is null;
