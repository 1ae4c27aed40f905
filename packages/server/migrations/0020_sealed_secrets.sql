-- Secrets that must be read again are sealed by a key outside the database. Record 25 has the reasons.

-- The plain columns stay for processes of the previous release, and are empty unless such a process may run:
-- `plain_until` is the end of that time.
alter table service_secrets
  alter column secret drop not null,
  add column sealed bytea,
  add column plain_until timestamptz(3),
  add constraint service_secrets_kept check (secret is not null or sealed is not null);

alter table signing_keys
  alter column private_key drop not null,
  add column sealed bytea,
  add column plain_until timestamptz(3),
  add constraint signing_keys_kept check (private_key is not null or sealed is not null);
