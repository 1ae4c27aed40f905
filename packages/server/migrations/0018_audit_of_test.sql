-- What a test credential lists of the audit log: without it, every live row was read on the way to the next of test.
create index audit_logs_of_test on audit_logs (workspace_id, seq) where coalesce(env, 'test') = 'test';
