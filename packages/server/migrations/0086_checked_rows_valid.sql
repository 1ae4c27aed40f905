-- expand, outside a transaction
alter table api_keys validate constraint api_keys_checked;
alter table audit_logs validate constraint audit_logs_checked;
