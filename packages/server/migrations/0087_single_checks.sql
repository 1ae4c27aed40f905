-- contract
-- What the functions of 0085 check.
alter table api_keys
  drop constraint api_keys_env,
  drop constraint api_keys_lookup_hash_length,
  drop constraint api_keys_meta_bounds,
  drop constraint api_keys_name_bounds,
  drop constraint api_keys_rate_limits_bounds,
  drop constraint api_keys_reason_bounds,
  drop constraint api_keys_scopes_bounds;
alter table audit_logs
  drop constraint audit_logs_action,
  drop constraint audit_logs_actor_id,
  drop constraint audit_logs_actor_type,
  drop constraint audit_logs_env,
  drop constraint audit_logs_hash_length,
  drop constraint audit_logs_payload,
  drop constraint audit_logs_prev_hash_length,
  drop constraint audit_logs_seq,
  drop constraint audit_logs_target_type;
