-- expand
-- A billing address gets nothing but its own verification until the link in that was used. Both hashes take the
-- address as stored: where a release that does not know them changes the address, the new one is unproven.

-- SHA-256 of the address that was verified.
alter table workspaces add column billing_verified_hash bytea,
  -- The newest link: the digest of its token, the address that it proves, and its end.
  add column billing_token_digest bytea,
  add column billing_token_hash bytea,
  add column billing_token_expires_at timestamptz(3);

-- The address if it may get letters, or null.
create function billing_recipient(address text, verified_hash bytea) returns text
language sql immutable as $$ select case when verified_hash = sha256(convert_to(address, 'UTF8')) then address end $$;
