-- Outgoing mail. The jobs themselves are in the schema graphile_worker, which the library of that name creates and
-- maintains (platform/db/job-queue.ts). A job carries a kind and ids, never an address and never a token.

-- The messages queued for an address in the last hour, as a limit against floods. The address itself is not here, and
-- need not have an account.
create table mail_throttles (
  -- SHA-256 of the address in its canonical form.
  address_hash bytea not null
    constraint mail_throttles_address_hash_length check (octet_length(address_hash) = 32),
  -- Kinds that count together.
  kind text not null constraint mail_throttles_kind_bounds check (kind ~ '^[a-z][a-z_]{0,39}$'),
  queued_at timestamptz[] not null
    constraint mail_throttles_queued_at_bounds check (cardinality(queued_at) between 1 and 5),
  expires_at timestamptz(3) not null,
  primary key (address_hash, kind)
);
create index mail_throttles_by_expiry on mail_throttles (expires_at);

-- Queues one message in the caller's transaction, or none when five of that kind were queued for the address in the
-- last hour; the caller does not learn which. A null id stands for a missing person: the job is queued all the same, so
-- that the number of jobs reveals nothing, and is dropped when its turn comes. The NOTIFY inside takes the lock of the
-- whole database at commit. Mail is too rare for that to matter.
create function queue_mail(letter_kind text, throttle_kind text, address_digest bytea, letter_ids jsonb) returns void
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
  if found then
    -- With the library's waits, 13 attempts are made in 22 hours.
    perform graphile_worker.add_job(
      'keyrail_mail', json_build_object('kind', letter_kind, 'ids', letter_ids), max_attempts => 13);
  end if;
end $$;
revoke execute on function queue_mail(text, text, bytea, jsonb) from public;
grant execute on function queue_mail(text, text, bytea, jsonb) to keyrail_app;
