-- The value of expires_at before the overlap of a rotation: every later successor gets it. For keys rotated before this
-- migration, only the end of their overlap is known.
alter table api_keys add column original_expires_at timestamptz(3);
update api_keys set original_expires_at = expires_at where overlap_ends_at is not null;

alter table secret_keys add column original_expires_at timestamptz(3);
update secret_keys set original_expires_at = expires_at where rotated_to is not null;
