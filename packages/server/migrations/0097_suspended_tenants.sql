-- expand
-- A suspension is a fact beside the keys: no row of a key changes, so that resuming gives back exactly what was.
alter table tenants
  add column suspended_at timestamptz(3),
  add column suspended_reason text,
  add constraint tenants_suspended check (
    (suspended_at is not null or suspended_reason is null) and char_length(suspended_reason) between 1 and 500
  ) not valid;

-- The version at which the tenant was last suspended or resumed. Nodes without the feature `suspended` see that as many keys
-- that go or come back, of which the log of changes has none: for them it is a floor.
alter table policy_tenants add column suspended_version bigint;

-- As before, and not for a suspended tenant: a write that passed the gate before the suspension does not commit behind it.
create or replace function hold_embed_right(of_workspace uuid, of_tenant uuid, epoch bigint, minter uuid) returns void
language plpgsql as $$
begin
  perform hold_key_right(of_workspace, minter);
  perform pg_advisory_xact_lock_shared(right_lock(of_workspace, of_tenant));
  perform from tenants t where t.workspace_id = of_workspace and t.id = of_tenant
    and t.deleted_at is null and t.embed_epoch = epoch and t.suspended_at is null;
  if not found then
    raise exception 'the right is gone' using errcode = 'KR401';
  end if;
end $$;
