-- expand, outside a transaction
-- Filters of the audit log, each in the order of seq. The indexes by action and by actor have every pair of action and
-- environment in its own part, so that one serves the filters by action, by environment and by both, and the other the
-- same for one actor. Rows without an environment are ''. CASE, because row-level security keeps a condition with
-- COALESCE away from an index.
create index concurrently if not exists audit_logs_by_action
  on audit_logs (workspace_id, action, (case when env is null then '' else env end), seq);
create index concurrently if not exists audit_logs_by_actor
  on audit_logs (workspace_id, actor_id, action, (case when env is null then '' else env end), seq)
  where actor_id is not null;
create index concurrently if not exists audit_logs_by_target on audit_logs (workspace_id, target_id, seq);
