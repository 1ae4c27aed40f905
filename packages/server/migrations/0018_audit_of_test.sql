-- expand, outside a transaction
-- For a test credential's list of the audit log: without it, the list would read every live row on the way to the next
-- test row.
create index concurrently if not exists audit_logs_of_test on audit_logs (workspace_id, seq) where coalesce(env, 'test') = 'test';
