-- When the mint of an embed token created the tenant, by the store's clock; null for tenants created elsewhere. It counts
-- for the limit of such tenants per minute.
alter table tenants add column met_at timestamptz(3);
create index tenants_met on tenants (workspace_id, met_at) where met_at is not null;
