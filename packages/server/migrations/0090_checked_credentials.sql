-- expand
-- As in 0085, for what is written beside each key and each audit row.
create function credentials_checked(kind text, digest bytea) returns boolean language plpgsql immutable as $$
declare
  broken constant text := case
    when kind not in ('api_key', 'secret_key', 'session') then 'kind'
    when octet_length(digest) <> 32 then 'digest_length'
  end;
begin
  if broken is null then return true; end if;
  raise check_violation using message = 'a row of credentials breaks credentials_' || broken,
    table = 'credentials', constraint = 'credentials_' || broken;
end $$;
alter table credentials add constraint credentials_checked check (credentials_checked(kind, digest)) not valid;
