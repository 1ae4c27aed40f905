-- expand
-- As in 0085.
create function audit_callers_checked(ip text, first_seq bigint, last_seq bigint) returns boolean
language plpgsql immutable as $$
declare
  broken constant text := case
    when char_length(ip) not between 1 and 64 then 'ip_bounds'
    when first_seq < 1 or last_seq < first_seq then 'order'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of audit_callers breaks audit_callers_' || broken,
    table = 'audit_callers', constraint = 'audit_callers_' || broken;
end $$;
alter table audit_callers add constraint audit_callers_checked
  check (audit_callers_checked(ip, first_seq, last_seq)) not valid;
