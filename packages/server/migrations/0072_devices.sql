-- expand
-- The devices that have signed in with the password of an account and do not wait behind strangers in their networks: at
-- most ten, the newest first. They end with the password.
alter table user_passwords add column devices uuid[] not null default '{}';

create function end_devices() returns trigger language plpgsql as $$
begin
  new.devices := '{}';
  return new;
end $$;
create trigger end_devices before update of hash on user_passwords
  for each row when (new.hash is distinct from old.hash) execute function end_devices();
