-- expand
-- Letters are sent by priority, the lowest number first: alarms, then what the service or a person with a verified address
-- caused, then resets of verified addresses, then letters to addresses that nothing is known of. Strangers cause the last two,
-- so their networks take turns: the n-th letter of a network in an hour comes behind those of networks with fewer.

-- As queue_letter was, with a priority.
create function queue_letter_at(
  letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb, job_priority int)
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
    'keyrail_mail', json_build_object('kind', letter_kind, 'ids', letter_ids), max_attempts => 13,
    priority => job_priority);
  return true;
end $$;
revoke execute on function queue_letter_at(text, text, bytea, jsonb, int) from public;

-- Releases before this one queue with priority 0.
create or replace function queue_letter(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  return public.queue_letter_at(letter_kind, throttle_kind, address_digest, letter_ids, 0);
end $$;

-- As it was, before all other letters.
create or replace function queue_alarm(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  moment constant timestamptz := public.service_now();
  room_at timestamptz;
begin
  if public.queue_letter_at(letter_kind, throttle_kind, address_digest, letter_ids, -100) then
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
      run_at => now() + (room_at - moment) + interval '1 minute', max_attempts => 13, priority => -100);
  end if;
end $$;

-- Queues a letter that a stranger caused, in the turn of the network.
create function queue_in_turn(
  letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb, network bytea, is_to_verified boolean)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  moment constant timestamptz := public.service_now();
  turn int;
begin
  insert into public.letter_counts as held (sender_hash, sent_at, expires_at)
  values (network, array[moment], moment + interval '1 hour')
  on conflict (sender_hash) do update
    set sent_at = array(
        select one from unnest(held.sent_at) one where one > moment - interval '1 hour'
        order by one desc limit 999) || moment,
      expires_at = excluded.expires_at
  returning cardinality(sent_at) into turn;
  perform public.queue_letter_at(
    letter_kind, throttle_kind, address_digest, letter_ids, turn + case when is_to_verified then 100 else 2000 end);
end $$;
revoke execute on function queue_in_turn(text, text, bytea, jsonb, bytea, boolean) from public;
grant execute on function queue_in_turn(text, text, bytea, jsonb, bytea, boolean) to keyrail_app;
