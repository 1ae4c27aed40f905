-- expand
-- Alarms are never dropped: those that an address has no room for are gathered in one letter, sent when there is room.

-- Until when a letter gathers what comes; later alarms go out by themselves again.
alter table mail_throttles add column gathering_until timestamptz(3);

-- As queue_mail was. Returns whether the message was queued; the row of the throttle is locked in any case.
create function queue_letter(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  moment constant timestamptz := public.service_now();
begin
  if letter_kind !~ '^[a-z][a-z_]{0,39}$' or jsonb_typeof(letter_ids) <> 'object' or exists (
      select from jsonb_each_text(letter_ids) id
      where id.key !~ '^[a-z][a-z_]{0,39}$' or id.value !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') then
    raise exception 'a job of mail carries ids and nothing else' using errcode = 'check_violation';
  end if;
  insert into public.mail_throttles as held (address_hash, kind, queued_at, expires_at)
  values (address_digest, throttle_kind, array[moment], moment + interval '1 hour')
  on conflict (address_hash, kind) do update
    set queued_at = array(
        select one from unnest(held.queued_at) one where one > moment - interval '1 hour' order by one) || moment,
      expires_at = excluded.expires_at
    where (select count(*) from unnest(held.queued_at) one where one > moment - interval '1 hour') < 5;
  if not found then
    return false;
  end if;
  -- With the library's waits, 13 attempts are made in 22 hours.
  perform graphile_worker.add_job(
    'keyrail_mail', json_build_object('kind', letter_kind, 'ids', letter_ids), max_attempts => 13);
  return true;
end $$;
revoke execute on function queue_letter(text, text, bytea, jsonb) from public;

create or replace function queue_mail(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform public.queue_letter(letter_kind, throttle_kind, address_digest, letter_ids);
end $$;

-- Queues an alarm. Beyond the throttle, the first one queues the letter that gathers it and all that follow until
-- then: its kind ends in `_gathered`, and its ids say where the gathering begins. The minute lets transactions end
-- that queue an alarm in the last moment.
create function queue_alarm(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  moment constant timestamptz := public.service_now();
  room_at timestamptz;
begin
  if public.queue_letter(letter_kind, throttle_kind, address_digest, letter_ids) then
    return;
  end if;
  update public.mail_throttles set gathering_until = interval '1 hour'
      + (select min(one) from unnest(queued_at) one where one > moment - interval '1 hour')
  where address_hash = address_digest and kind = throttle_kind
    and (gathering_until is null or gathering_until <= moment)
  returning gathering_until into room_at;
  if found then
    perform graphile_worker.add_job(
      'keyrail_mail', json_build_object('kind', letter_kind || '_gathered', 'ids', letter_ids),
      run_at => now() + (room_at - moment) + interval '1 minute', max_attempts => 13);
  end if;
end $$;
revoke execute on function queue_alarm(text, text, bytea, jsonb) from public;
grant execute on function queue_alarm(text, text, bytea, jsonb) to keyrail_app;
