-- expand, outside a transaction
alter table credentials validate constraint credentials_checked;
alter table audit_callers validate constraint audit_callers_checked;
