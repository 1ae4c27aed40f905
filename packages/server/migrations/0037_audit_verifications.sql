-- expand
-- The service verifies each chain once a day by itself: when it did so last, when it is to do it again, and where it found the
-- chain broken. No index, because each mutation updates a row of this table.
alter table audit_heads
  add column verified_at timestamptz(3),
  add column verification_due_at timestamptz(3),
  add column first_bad_seq bigint;
