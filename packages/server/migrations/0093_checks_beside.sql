-- contract
-- What 0090 and 0091 check, and what `policy_heads_floor` implies: a floor from 1 on that is at most the version.
alter table credentials drop constraint credentials_kind, drop constraint credentials_digest_length;
alter table policy_heads drop constraint policy_heads_version;
alter table audit_callers drop constraint audit_callers_ip_bounds, drop constraint audit_callers_order;
