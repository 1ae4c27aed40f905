-- expand
-- How many letters to third parties were sent in the name of a person, or from a network, in the last day. Neither
-- is here, and a row leads to no one.
create table letter_counts (
  -- SHA-256 of the name of a person or a network.
  sender_hash bytea primary key
    constraint letter_counts_sender_hash_length check (octet_length(sender_hash) = 32),
  sent_at timestamptz[] not null
    constraint letter_counts_sent_at_bounds check (cardinality(sent_at) between 1 and 1000),
  expires_at timestamptz(3) not null
);
create index letter_counts_by_expiry on letter_counts (expires_at);

-- Counts one letter in the caller's transaction, and returns 0; or counts none when `most` were sent in the last day,
-- and returns in how many seconds there is room for one again.
create function charge_letter(sender bytea, most int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  moment constant timestamptz := public.service_now();
  room_in int;
begin
  insert into public.letter_counts as held (sender_hash, sent_at, expires_at)
  values (sender, array[moment], moment + interval '1 day')
  on conflict (sender_hash) do update
    set sent_at = array(
        select one from unnest(held.sent_at) one where one > moment - interval '1 day' order by one) || moment,
      expires_at = excluded.expires_at
    where (select count(*) from unnest(held.sent_at) one where one > moment - interval '1 day') < most;
  if found then
    return 0;
  end if;
  select ceil(extract(epoch from one + interval '1 day' - moment)) into room_in
  from public.letter_counts c, unnest(c.sent_at) one
  where c.sender_hash = sender and one > moment - interval '1 day'
  order by one desc offset most - 1 limit 1;
  return greatest(room_in, 1);
end $$;
revoke execute on function charge_letter(bytea, int) from public;
grant execute on function charge_letter(bytea, int) to keyrail_app;
